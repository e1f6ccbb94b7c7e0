import { type Engine, sqlite } from '../engines.ts'
import { type ModelServer, startModelServer } from '../peers/model-server.ts'
import { openaiChat } from '../peers/openai-chat.ts'
import { type Service, type Surroundings, startServer } from '../service.ts'
import { type ChatClient, chatClient } from './chat-client.ts'

export interface ChatServer extends AsyncDisposable {
  readonly databaseUrl: string
  readonly model: ModelServer
  readonly service: Service
  readonly chat: ChatClient
  /** Another process on the same database, asking the same model. */
  readonly startAnother: () => Promise<Service & { readonly chat: ChatClient }>
}

/** For long campaigns, which post more prompts than one address may in a day. */
export const MANY_PROMPTS = { CHAT_PROMPTS_PER_ADDRESS: '1000000', CHAT_PROMPTS_MAX: '1000000' }

/** `stockroom chat` as a process, with an empty database and a model server that the test controls. */
export async function startChatServer(
  { freshDatabase }: Engine = sqlite,
  surroundings: Surroundings = {},
): Promise<ChatServer> {
  await using opened = new AsyncDisposableStack()
  const { url } = opened.use(await freshDatabase())
  return startChatServerOn(url, opened.move(), surroundings)
}

/** The same on an existing database; everything in `open` is closed with it. */
export async function startChatServerOn(
  databaseUrl: string,
  open: AsyncDisposableStack = new AsyncDisposableStack(),
  { environment: settings }: Surroundings = {},
): Promise<ChatServer> {
  const model = open.use(await startModelServer(openaiChat))
  const start = async () => {
    const environment = { ...model.environment, ...settings }
    const place = ['--host', '127.0.0.1', '--port', '0', '--database', databaseUrl, '--access-log', 'off']
    return open.use(await startServer(['chat', ...place], { environment }))
  }
  const service = await start()
  return {
    databaseUrl,
    model,
    service,
    chat: chatClient(() => service.address),
    startAnother: async () => {
      const another = await start()
      return { ...another, chat: chatClient(() => another.address) }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
