import { join } from 'node:path'
import type { ModelServer } from '../../test/harness/peers/model-server.ts'
import { ANSWER_CHARACTERS, piecesOf, sampleAnswer } from '../markdown/answer.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import { commandOf, type Version } from '../stockroom.ts'
import { stopwatch } from '../stopwatch.ts'

/** The model's answer, in pieces. */
export const PIECES: readonly string[] = piecesOf(sampleAnswer(ANSWER_CHARACTERS))

/** One answer as the listener received it. */
export interface ChatMeasurement {
  readonly wire: Buffer<ArrayBuffer>
  /** The server's CPU time, from the prompt to the end of the answer; null if the system does not tell. */
  readonly processorSeconds: number | null
}

export interface RunningChat extends RunningServer {
  /** The password, if the chat asks for one. */
  readonly password: string | undefined
}

/** Starts the chat with that model and a new database in the folder. A password opens a chat that asks for access keys, too. */
export async function startChat(
  version: Version,
  folder: string,
  model: ModelServer,
  interrupted: AbortSignal,
): Promise<RunningChat> {
  const name = `${version.name} chat`
  const { AUTH, CHAT_PASSWORD: password = AUTH === 'keys' ? crypto.randomUUID() : undefined } = version.settings ?? {}
  const running = await startServer(
    {
      name,
      command: commandOf(version, 'chat', '--host', '127.0.0.1', '--port', '0', '--access-log', 'off'),
      directory: folder,
      environment: {
        STREAMS_PER_ADDRESS: '100000',
        DATABASE_URL: `sqlite:${join(folder, `${version.name}.db`)}`,
        ...model.environment,
        ...version.settings,
        ...(password !== undefined && { CHAT_PASSWORD: password }),
      },
    },
    interrupted,
  )
  return { ...running, password }
}

/** Posts a prompt and listens to its answer. The response comes with the first piece. */
export async function askChat({ address, password }: RunningChat, model: ModelServer, coding: string) {
  const path = `${address}/chat/${crypto.randomUUID()}`
  const headers: Record<string, string> = password === undefined ? {} : { Authorization: `Bearer ${password}` }
  const body = new URLSearchParams({ user_prompt: 'Tell me about shelves' })
  const posted = await fetch(path, { method: 'POST', body, headers })
  if (!posted.ok) throw new Error(`POST ${path}: ${posted.status}`)
  const response = fetch(path.replace('/chat/', '/chatstream/'), {
    headers: { ...headers, 'Accept-Encoding': coding },
    decompress: false,
  })
  return { response, call: await model.nextCall() }
}

/** Streams one answer to one listener. The model sends each piece after the event for the one before has arrived. */
export async function measureAnswer(
  running: RunningChat,
  model: ModelServer,
  coding: string,
): Promise<ChatMeasurement> {
  const processorTime = stopwatch(running.processorSeconds)
  const { response, call } = await askChat(running, model, coding)
  const listening = response.then(({ body }) => body?.getReader())
  const wire: Uint8Array[] = []
  for (const piece of PIECES) {
    await call.send(piece)
    const reader = await listening
    const read = await reader?.read()
    if (read?.value) wire.push(read.value)
  }
  await call.finish()
  const reader = await listening
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) wire.push(read.value)
  return { wire: Buffer.concat(wire), processorSeconds: processorTime() }
}
