import type { Command } from '../command.ts'
import { accessLog, corsOrigins, database, host, logLevel, port, readCommandLine } from '../config.ts'
import { openSqlite } from '../database/sqlite.ts'
import { listen, stopSignal } from '../server/listen.ts'
import { startLog } from '../server/log.ts'
import { createCatalog } from './app.ts'
import { sqliteRepositories } from './repositories.ts'

const servePort = port(8000)

export const serve: Command = {
  name: 'serve',
  operands: '',
  summary: 'Serve the store catalog over HTTP.',
  settings: [host, servePort, database, corsOrigins, accessLog, logLevel],
  run: async argv => {
    const line = readCommandLine(argv, serve.settings)
    // All of them first: a wrong setting stops the program before it has touched anything.
    const settings = {
      level: line.value(logLevel),
      path: line.value(database).path,
      corsOrigins: line.value(corsOrigins),
      place: { host: line.value(host), port: line.value(servePort), accessLog: line.value(accessLog) },
    }
    startLog(settings.level)
    const stopped = stopSignal()
    await using store = openSqlite(settings.path)
    const repositories = sqliteRepositories(store)
    const catalog = createCatalog({ repositories, corsOrigins: settings.corsOrigins })
    await using server = listen({ fetch: catalog.fetch, ...settings.place })
    process.stdout.write(`stockroom serves the store catalog at ${server.address}, its documentation at /docs\n`)
    if (await repositories.isEmpty()) {
      process.stdout.write('The catalog is empty: `npx stockroom seed` fills it with sample data\n')
    }
    await stopped
  },
}
