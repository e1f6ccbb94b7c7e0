import type { Command } from '../command.ts'
import { breedsUrl, host, logLevel, port, readCommandLine } from '../config.ts'
import { listen, stopSignal } from '../server/listen.ts'
import { startLog } from '../server/log.ts'
import { readServerSettings, serverSettings } from '../server/settings.ts'
import { createBreeds } from './app.ts'

const breedsPort = port(6543)

export const breeds: Command = {
  name: 'breeds',
  operands: '',
  summary: 'Serve the page that lists dog breeds, one at a time.',
  settings: [host, breedsPort, breedsUrl, ...serverSettings],
  run: async argv => {
    const line = readCommandLine(argv, breeds.settings)
    // All of them first: a wrong setting stops the program before it has touched anything.
    const settings = {
      level: line.value(logLevel),
      listUrl: line.value(breedsUrl),
      server: readServerSettings(line, breedsPort),
    }
    startLog(settings.level)
    const stopped = stopSignal()
    const app = createBreeds({ listUrl: settings.listUrl })
    await using server = listen({ app, ...settings.server })
    process.stdout.write(`stockroom serves the breeds page at ${server.address}\n`)
    await stopped
  },
}
