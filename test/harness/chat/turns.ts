import type { ModelCall } from '../peers/model-server.ts'
import type { Listener } from './chat-client.ts'
import type { ChatServer } from './chat-server.ts'

interface Turn {
  readonly reqId: string
  readonly listener: Listener
  readonly call: ModelCall
}

/** Turns on a chat server that may start later, before the tests. */
export function turnsOn(server: () => ChatServer) {
  const listen = async (reqId: string): Promise<Turn> => {
    const { chat, model } = server()
    const listener = chat.listen(reqId)
    return { reqId, listener, call: await model.nextCall() }
  }
  return {
    listen,
    /** Posts a prompt and listens; the test decides what the model answers. */
    begin: async (prompt: string, reqId: string = crypto.randomUUID()): Promise<Turn> => {
      await server().chat.post(reqId, prompt)
      return listen(reqId)
    },
    callsFor: (prompt: string): ModelCall[] => server().model.calls.filter(call => call.prompt === prompt),
  }
}

/** The id under which the page's form sends the next prompt. */
export function nextReqId(page: string): string {
  return /action="\/chat\/([^"/]+)" method="post"/.exec(page)?.[1] ?? ''
}
