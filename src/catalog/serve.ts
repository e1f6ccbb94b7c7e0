import { firstKeyHint } from '../access/first-key.ts'
import { KeyRing } from '../access/key-ring.ts'
import { accessMigrations } from '../access/migrations/index.ts'
import { keysOf } from '../access/open.ts'
import { openAdmin } from '../admin/open.ts'
import { readAdminSettings } from '../admin/settings.ts'
import { historyOf } from '../database/history.ts'
import { databaseFamilies } from '../database/metrics.ts'
import { newFileNote, openDatabase, readDatabaseSettings, START_WAIT_MS } from '../database/open.ts'
import { commandOn } from '../database/settings.ts'
import type { CommandLine } from '../program/config.ts'
import { startLog } from '../program/log.ts'
import { listen } from '../server/listen.ts'
import { readServerSettings } from '../server/settings.ts'
import { stopSignal } from '../server/stop.ts'
import type { ServingProcess } from '../server/worker.ts'
import { openTracing } from '../tracing/open.ts'
import { readTracingSettings } from '../tracing/settings.ts'
import { createCatalog } from './app.ts'
import { Feed } from './events/feed.ts'
import { Budgets } from './http/budgets.ts'
import type { Access } from './http/guard.ts'
import { catalogFamilies } from './metrics.ts'
import { catalogMigrations } from './migrations/index.ts'
import { repositoriesOf } from './repositories.ts'
import { adminPage, cacheBytes, corsOrigins, eventsKept, idempotencyBytes, readAccess, servePort } from './settings.ts'
import { logCache } from './storage/cache/log.ts'
import { showUnfinished } from './storage/citus/unfinished.ts'
import { expireKeys } from './storage/idempotency/expiry.ts'
import { PasswordHashing } from './users/password.ts'

export async function serve(line: CommandLine, serving: ServingProcess): Promise<void> {
  const { worker, share, listening, ready } = serving
  // Read every setting first: a wrong one stops the program before it has touched anything.
  const ofDatabase = readDatabaseSettings(line)
  const ofServer = readServerSettings(line, servePort)
  const settings = {
    database: { ...ofDatabase, connections: share(ofDatabase.connections) },
    access: readAccess(line),
    corsOrigins: line.value(corsOrigins),
    hasAdminPage: line.value(adminPage),
    limits: {
      cacheBytes: share(line.value(cacheBytes)),
      idempotencyBytes: line.value(idempotencyBytes),
    },
    eventsKept: line.value(eventsKept),
    server: { ...ofServer, connectionsMax: share(ofServer.connectionsMax), sharesPort: worker !== null },
    admin: readAdminSettings(line),
    tracing: readTracingSettings(line),
  }
  const log = startLog(settings.server.logLevel, worker)
  const stopped = stopSignal({ isWorker: worker !== null })
  const migrations = settings.access ? [catalogMigrations, accessMigrations] : [catalogMigrations]
  await using tracing = await openTracing(settings.tracing)
  await using database = await openDatabase(settings.database, migrations, { waitMs: START_WAIT_MS })
  const repositories = repositoriesOf(database, settings.limits)
  const budgets = new Budgets()
  const hashing = new PasswordHashing()
  const feed = new Feed(historyOf(database))
  const access = settings.access && { ...settings.access, keys: new KeyRing(keysOf(database)) }
  const catalog = createCatalog({
    repositories,
    budgets,
    hashPassword: hashing.hash,
    corsOrigins: settings.corsOrigins,
    feed: settings.eventsKept > 0 ? feed : null,
    access,
    hasAdminPage: settings.hasAdminPage,
    trustedProxies: settings.server.trustedProxies,
  })
  await using background = new AsyncDisposableStack()
  background.use(logCache(repositories.cacheFigures))
  background.use(expireKeys(repositories.keys))
  background.use(feed.removeOld(settings.eventsKept))
  background.use(repositories.searchIndex.inBackground())
  if (database.engine === 'postgres') background.use(showUnfinished(database))
  const admin = await openAdmin(settings.admin, serving)
  await using server = listen({ app: catalog, ...settings.server, log, tracing, observers: admin.observers })
  await using shown = admin.show({
    server,
    probe: repositories.probe,
    families: () => [
      ...databaseFamilies(database),
      ...catalogFamilies({ repositories, hashing, budgets, streaming: server.streaming }),
    ],
  })
  const what = `stockroom serves the store catalog at ${server.address}, its documentation at /docs`
  listening(server.port, `${what}; ${whoMay(access)}${newFileNote(database)}`)
  shown.announce()
  await Promise.race([database.ready, stopped])
  // If the database has become unavailable again, requests report it.
  const isEmpty = await repositories.isEmpty().catch(() => false)
  const { address } = settings.database
  const hints = [
    isEmpty ? `The catalog is empty: ${commandOn(address, 'seed')} fills it with sample data` : null,
    access && (await firstKeyHint(access.keys, address, 'admin')),
  ].filter(hint => hint !== null)
  ready(hints.length > 0 ? hints.join('\n') : null)
  await stopped
  // Otherwise the server would wait for them.
  await feed.stop()
}

function whoMay(access: Access | null): string {
  if (!access) return 'anyone who can reach it may read and change everything (AUTH=off)'
  return access.publicReads
    ? 'anyone may read categories, products and reviews, and all else requires an access key'
    : 'all requests require an access key'
}
