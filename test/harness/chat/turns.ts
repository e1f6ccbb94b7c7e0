import { afterAll, beforeAll } from 'bun:test'
import { withEachEngine } from '../contract.ts'
import type { Engine } from '../engines.ts'
import type { ModelCall, ModelServer } from '../peers/model-server.ts'
import { type ChatClient, chatClient, type Listener } from './chat-client.ts'
import { type ChatServer, startChatServer } from './chat-server.ts'

/** The last event of each stream. */
export const TERMINATE = 'event: Terminate\ndata: <div id="chat" hx-swap-oob="true"></div>\n\n'

interface Turn {
  readonly reqId: string
  readonly listener: Listener
  readonly call: ModelCall
}

/** A chat server, which is there once the tests run, and turns on it. */
interface ChatTurns {
  readonly server: () => ChatServer
  readonly chat: ChatClient
  readonly listen: (reqId: string) => Promise<Turn>
  readonly begin: (prompt: string, reqId?: string) => Promise<Turn>
  readonly callsFor: (prompt: string) => ModelCall[]
}

/** Runs tests against a chat server on each engine. */
export function chatOnEachEngine(subject: string, tests: (turns: ChatTurns, engine: Engine) => void): void {
  withEachEngine(subject, engine => {
    let started: ChatServer
    beforeAll(async () => {
      started = await startChatServer(engine, { environment: { STREAMS_PER_ADDRESS: '2000' } })
    })
    afterAll(() => started[Symbol.asyncDispose]())
    const server = () => started
    const chat = chatClient(() => started.chat.address)
    const listen = async (reqId: string): Promise<Turn> => {
      const listener = chat.listen(reqId)
      return { reqId, listener, call: await started.model.nextCall() }
    }
    const begin = (prompt: string, reqId: string = crypto.randomUUID()) => beginTurn(chat, started.model, reqId, prompt)
    const callsFor = (prompt: string) => started.model.calls.filter(call => call.prompt === prompt)
    tests({ server, chat, listen, begin, callsFor }, engine)
  })
}

/** Posts a prompt and listens to its answer; the test decides what the model answers. */
export async function beginTurn(
  chat: ChatClient,
  model: ModelServer,
  reqId: string,
  prompt: string = reqId,
  headers: Record<string, string> = {},
): Promise<Turn> {
  await chat.post(reqId, prompt, headers)
  const listener = chat.listen(reqId, headers)
  return { reqId, listener, call: await model.nextCall() }
}

/** The id under which the page's form sends the next prompt. */
export function nextReqId(page: string): string {
  return /action="\/chat\/([^"/]+)" method="post"/.exec(page)?.[1] ?? ''
}
