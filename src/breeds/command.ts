import type { Command } from '../command.ts'
import { accessLog, breedsUrl, host, logLevel, port, readCommandLine } from '../config.ts'
import { listen, stopSignal } from '../server/listen.ts'
import { startLog } from '../server/log.ts'
import { createBreeds } from './app.ts'

const breedsPort = port(6543)

export const breeds: Command = {
  name: 'breeds',
  operands: '',
  summary: 'Serve the page that lists dog breeds, one at a time.',
  settings: [host, breedsPort, breedsUrl, accessLog, logLevel],
  run: async argv => {
    const line = readCommandLine(argv, breeds.settings)
    // All of them first: a wrong setting stops the program before it has touched anything.
    const settings = {
      level: line.value(logLevel),
      listUrl: line.value(breedsUrl),
      place: { host: line.value(host), port: line.value(breedsPort), accessLog: line.value(accessLog) },
    }
    startLog(settings.level)
    const stopped = stopSignal()
    const app = createBreeds({ listUrl: settings.listUrl })
    await using server = listen({ fetch: app.fetch, ...settings.place })
    process.stdout.write(`stockroom serves the breeds page at ${server.address}\n`)
    await stopped
  },
}
