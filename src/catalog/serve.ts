import type { CommandLine } from '../config.ts'
import { openDatabase, readDatabaseSettings, START_WAIT_MS } from '../database/open.ts'
import { startLog } from '../log.ts'
import { listen, stopSignal } from '../server/listen.ts'
import { logLevel, readServerSettings } from '../server/settings.ts'
import type { ServingProcess } from '../server/worker.ts'
import { createCatalog } from './app.ts'
import { logCache } from './cache/log.ts'
import { catalogMigrations } from './migrations/index.ts'
import { repositoriesOf } from './repositories.ts'
import { cacheBytes, corsOrigins, servePort } from './settings.ts'

export async function serve(line: CommandLine, { worker, share, listening, ready }: ServingProcess): Promise<void> {
  // Read every setting first: a wrong one stops the program before it has touched anything.
  const ofDatabase = readDatabaseSettings(line)
  const ofServer = readServerSettings(line, servePort)
  const settings = {
    level: line.value(logLevel),
    database: { ...ofDatabase, connections: share(ofDatabase.connections) },
    corsOrigins: line.value(corsOrigins),
    cacheBytes: share(line.value(cacheBytes)),
    server: { ...ofServer, connectionsMax: share(ofServer.connectionsMax), sharesPort: worker !== null },
  }
  startLog(settings.level, worker)
  const stopped = stopSignal()
  await using database = await openDatabase(settings.database, [catalogMigrations], START_WAIT_MS)
  const repositories = repositoriesOf(database, settings.cacheBytes)
  const catalog = createCatalog({ repositories, corsOrigins: settings.corsOrigins })
  using _ = logCache(repositories.cacheFigures)
  await using server = listen({ app: catalog, ...settings.server })
  listening(server.port, `stockroom serves the store catalog at ${server.address}, its documentation at /docs`)
  await Promise.race([database.ready, stopped])
  // If the database has become unavailable again, requests report it.
  const isEmpty = await repositories.isEmpty().catch(() => false)
  ready(isEmpty ? 'The catalog is empty: `npx stockroom seed` fills it with sample data' : null)
  await stopped
}
