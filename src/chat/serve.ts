import { firstKeyHint } from '../access/first-key.ts'
import { KeyRing } from '../access/key-ring.ts'
import { accessMigrations } from '../access/migrations/index.ts'
import { keysOf } from '../access/open.ts'
import { auth } from '../access/settings.ts'
import { openAdmin } from '../admin/open.ts'
import { readAdminSettings } from '../admin/settings.ts'
import { databaseFamilies } from '../database/metrics.ts'
import { newFileNote, openDatabase, readDatabaseSettings, START_WAIT_MS } from '../database/open.ts'
import { Login } from '../login/login.ts'
import { identifying } from '../login/routes.ts'
import { openMarkdown } from '../markdown/renderer.ts'
import { ObservedModel } from '../models/observed.ts'
import { openChatModel } from '../models/open.ts'
import { chatBaseUrl, chatModel } from '../models/settings.ts'
import type { CommandLine } from '../program/config.ts'
import { startLog } from '../program/log.ts'
import { print } from '../program/output.ts'
import { listen } from '../server/listen.ts'
import { readServerSettings } from '../server/settings.ts'
import { stopSignal } from '../server/stop.ts'
import { ALONE } from '../server/worker.ts'
import { openTracing } from '../tracing/open.ts'
import { readTracingSettings } from '../tracing/settings.ts'
import { Answers } from './answers/answers.ts'
import { createChat } from './app.ts'
import { startHousekeeping } from './housekeeping.ts'
import { loggedPath } from './logged-path.ts'
import { COOKIE_NAME, PROTECTED_PAGES } from './login/protected-pages.ts'
import { chatFamilies } from './metrics.ts'
import { chatMigrations } from './migrations/index.ts'
import { Prompts } from './prompts/prompts.ts'
import { repositoriesOf } from './repositories.ts'
import { chatPort, readBounds, readChatPassword } from './settings.ts'
import { Spending, UNBOUNDED } from './spending/spending.ts'

/** Answers may continue for this long after a signal to stop. The rest is stored as interrupted while connections drain. */
const ANSWERS_GRACE_MS = 2_500

/** Part of the ready line if nobody has to log in. */
const OPEN = '; anyone who can reach it may use it (no CHAT_PASSWORD, AUTH=off)'

export async function serveChat(line: CommandLine): Promise<void> {
  // Read every setting first: a wrong one stops the program before it has touched anything.
  const settings = {
    database: readDatabaseSettings(line),
    server: readServerSettings(line, chatPort),
    bounds: readBounds(line),
    password: readChatPassword(),
    asksForKeys: line.value(auth) === 'keys',
    admin: readAdminSettings(line),
    tracing: readTracingSettings(line),
  }
  const { bounds, password, asksForKeys } = settings
  const asksForUsage = bounds.daily.tokensMax !== UNBOUNDED
  const chosen = await openChatModel(line.value(chatModel), line.value(chatBaseUrl), { asksForUsage })
  const log = startLog(settings.server.logLevel)
  const stopped = stopSignal()
  await using tracing = await openTracing(settings.tracing)
  const model = new ObservedModel(chosen, tracing)
  const migrations = asksForKeys ? [chatMigrations, accessMigrations] : [chatMigrations]
  await using database = await openDatabase(settings.database, migrations, { waitMs: START_WAIT_MS })
  const repositories = repositoriesOf(database)
  const markdown = await openMarkdown()
  const prompts = new Prompts(repositories.prompts, bounds.retention)
  const spending = new Spending(repositories.spending, bounds.daily)
  await using answers = new Answers({ ...repositories, model, markdown, spending, limits: bounds.limits })
  await using _ = startHousekeeping({ prompts, answers: repositories.answers, spending })
  const { trustedProxies } = settings.server
  const keys = asksForKeys ? new KeyRing(keysOf(database)) : null
  const { secret } = repositories
  const isOpen = password === null && keys === null
  const login = isOpen ? null : new Login({ password, keys, secret, cookieName: COOKIE_NAME, trustedProxies })
  const identify = keys && login && identifying(login, PROTECTED_PAGES)
  const probe = () => database.probe()
  const app = createChat({ prompts, answers, spending, login, probe })
  const admin = await openAdmin(settings.admin, ALONE)
  await using server = listen({
    app: { fetch: app.fetch, routes: app.routes, loggedPath, ...(identify && { identify }) },
    ...settings.server,
    log,
    tracing,
    observers: admin.observers,
  })
  await using shown = admin.show({
    server,
    probe,
    families: () => [...databaseFamilies(database), ...chatFamilies(answers.figures), ...model.families()],
  })
  const what = `stockroom serves the chat page at ${server.address}, answered by ${model.name}${isOpen ? OPEN : ''}`
  print(`${what}${newFileNote(database)}\n`)
  shown.announce()
  await Promise.race([database.ready, stopped])
  const hint = keys && (await firstKeyHint(keys, settings.database.address, 'write'))
  if (hint !== null) print(`${hint}\n`)
  await stopped
  // Meanwhile, the server stops accepting connections and waits for its streams.
  void answers.close(ANSWERS_GRACE_MS)
}
