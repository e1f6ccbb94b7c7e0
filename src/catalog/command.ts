import type { Command } from '../command.ts'
import { corsOrigins, host, logLevel, port, readCommandLine } from '../config.ts'
import { databaseSettings, openDatabase, readDatabaseSettings, START_WAIT_MS } from '../database/open.ts'
import { listen, stopSignal } from '../server/listen.ts'
import { startLog } from '../server/log.ts'
import { readServerSettings, serverSettings } from '../server/settings.ts'
import { createCatalog } from './app.ts'
import { repositoriesOf } from './repositories.ts'

const servePort = port(8000)

export const serve: Command = {
  name: 'serve',
  operands: '',
  summary: 'Serve the store catalog over HTTP.',
  settings: [host, servePort, ...databaseSettings, corsOrigins, ...serverSettings],
  run: async argv => {
    const line = readCommandLine(argv, serve.settings)
    // All of them first: a wrong setting stops the program before it has touched anything.
    const settings = {
      level: line.value(logLevel),
      database: readDatabaseSettings(line),
      corsOrigins: line.value(corsOrigins),
      server: readServerSettings(line, servePort),
    }
    startLog(settings.level)
    const stopped = stopSignal()
    await using database = await openDatabase(settings.database, START_WAIT_MS)
    const repositories = repositoriesOf(database)
    const catalog = createCatalog({ repositories, corsOrigins: settings.corsOrigins })
    await using server = listen({ app: catalog, ...settings.server })
    process.stdout.write(`stockroom serves the store catalog at ${server.address}, its documentation at /docs\n`)
    await Promise.race([database.ready, stopped])
    // What has gone again meanwhile is told to those who ask for it.
    if (await repositories.isEmpty().catch(() => false)) {
      process.stdout.write('The catalog is empty: `npx stockroom seed` fills it with sample data\n')
    }
    await stopped
  },
}
