import type { Command } from '../command.ts'
import { accessLog, corsOrigins, database, host, logLevel, port, readCommandLine } from '../config.ts'
import { openSqlite } from '../database/sqlite.ts'
import { SettingError } from '../operator-error.ts'
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
    if (line.operands.length > 0) throw new SettingError(`unexpected: ${line.operands.join(' ')}`)
    startLog(line.value(logLevel))
    const stopped = stopSignal()
    await using store = openSqlite(line.value(database).path)
    const repositories = sqliteRepositories(store)
    const catalog = createCatalog({ repositories, corsOrigins: line.value(corsOrigins) })
    await using server = listen({
      fetch: catalog.fetch,
      host: line.value(host),
      port: line.value(servePort),
      accessLog: line.value(accessLog),
    })
    process.stdout.write(`stockroom serves the store catalog at ${server.address}, its documentation at /docs\n`)
    if (await repositories.isEmpty()) {
      process.stdout.write('The catalog is empty: `npx stockroom seed` fills it with sample data\n')
    }
    await stopped
  },
}
