import { Answers } from '../../../src/chat/answers/answers.ts'
import { ANSWER_LIMITS, type AnswerLimits } from '../../../src/chat/answers/limits.ts'
import { createChat } from '../../../src/chat/app.ts'
import { startHousekeeping } from '../../../src/chat/housekeeping.ts'
import { COOKIE_NAME } from '../../../src/chat/login/protected-pages.ts'
import { chatMigrations } from '../../../src/chat/migrations/index.ts'
import { Prompts } from '../../../src/chat/prompts/prompts.ts'
import { RETENTION, type Retention } from '../../../src/chat/prompts/retention.ts'
import { repositoriesOf } from '../../../src/chat/repositories.ts'
import type { DailyBounds } from '../../../src/chat/spending/repository.ts'
import { Spending, UNBOUNDED } from '../../../src/chat/spending/spending.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { openDatabase } from '../../../src/database/open.ts'
import { database as databaseSetting } from '../../../src/database/settings.ts'
import { Login } from '../../../src/login/login.ts'
import { openMarkdown } from '../../../src/markdown/renderer.ts'
import { openChatModel } from '../../../src/models/open.ts'
import { listen } from '../../../src/server/listen.ts'
import type { Engine } from '../engines.ts'
import { LOOPBACK } from '../loopback.ts'
import { startModelServer } from '../peers/model-server.ts'
import { openaiChat } from '../peers/openai-chat.ts'
import { chatClient } from './chat-client.ts'

/** To the database. */
const CONNECTIONS = 4

const markdown = await openMarkdown()

interface ChatAppOptions {
  readonly limits?: Partial<AnswerLimits>
  readonly retention?: Partial<Retention>
  readonly clock?: Clock
  /** Whether it ends the answers of dead processes and deletes old prompts. */
  readonly isKept?: boolean
  readonly bounds?: Partial<DailyBounds>
  /** By default, everybody may use the chat. */
  readonly password?: string | null
  readonly sessionSeconds?: number
}

/**
 * The app inside the test process, with its own limits, in front of a real model server. As behind a proxy, it takes
 * a client's address from `X-Forwarded-For`.
 */
export async function startChatApp(
  { freshDatabase }: Engine,
  {
    limits,
    retention,
    clock = systemClock,
    isKept = false,
    bounds,
    password = null,
    ...loginOptions
  }: ChatAppOptions = {},
) {
  const open = new AsyncDisposableStack()
  const { url: databaseUrl } = open.use(await freshDatabase())
  const model = open.use(await startModelServer(openaiChat))
  const start = async () => {
    const own = new AsyncDisposableStack()
    const address = databaseSetting.parse(databaseUrl)
    const database = own.use(await openDatabase({ address, connections: CONNECTIONS }, [chatMigrations]))
    const repositories = repositoriesOf(database)
    const chatModel = await openChatModel({ provider: 'compatible', model: 'small-model' }, `${model.address}/v1`, {
      asksForUsage: true,
    })
    const spending = new Spending(repositories.spending, { answersMax: UNBOUNDED, tokensMax: UNBOUNDED, ...bounds })
    const answers = new Answers({
      ...repositories,
      model: chatModel,
      markdown,
      spending,
      limits: { ...ANSWER_LIMITS, ...limits },
    })
    const prompts = new Prompts(repositories.prompts, { ...RETENTION, ...retention }, clock)
    if (isKept) own.use(startHousekeeping({ prompts, answers: repositories.answers, spending, clock }))
    const { secret } = repositories
    const ofLogin = { password, keys: null, secret, cookieName: COOKIE_NAME, trustedProxies: 1 }
    const login = password === null ? null : new Login({ ...ofLogin, ...loginOptions })
    const app = createChat({ prompts, answers, spending, login, probe: () => database.probe() })
    const listening = own.use(listen({ app, ...LOOPBACK, trustedProxies: 1 }))
    own.use(answers)
    return {
      database,
      answers,
      prompts,
      spending,
      chat: chatClient(() => listening.address),
      [Symbol.asyncDispose]: () => own.disposeAsync(),
    }
  }
  const first = open.use(await start())
  return { ...first, databaseUrl, model, startOther: start, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** A client's address, as the proxy in front reports it. */
export function from(address: string): Record<string, string> {
  return { 'X-Forwarded-For': address }
}
