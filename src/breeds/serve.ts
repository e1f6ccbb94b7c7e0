import { openAdmin } from '../admin/open.ts'
import { readAdminSettings } from '../admin/settings.ts'
import type { CommandLine } from '../program/config.ts'
import { startLog } from '../program/log.ts'
import { print } from '../program/output.ts'
import { listen } from '../server/listen.ts'
import { readServerSettings } from '../server/settings.ts'
import { stopSignal } from '../server/stop.ts'
import { ALONE } from '../server/worker.ts'
import { openTracing } from '../tracing/open.ts'
import { readTracingSettings } from '../tracing/settings.ts'
import { createBreeds } from './app.ts'
import { breedsPort, breedsUrl } from './settings.ts'

export async function serveBreeds(line: CommandLine): Promise<void> {
  // Read every setting first: a wrong one stops the program before it has touched anything.
  const settings = {
    listUrl: line.value(breedsUrl),
    server: readServerSettings(line, breedsPort),
    admin: readAdminSettings(line),
    tracing: readTracingSettings(line),
  }
  const log = startLog(settings.server.logLevel)
  const stopped = stopSignal()
  await using tracing = await openTracing(settings.tracing)
  const app = createBreeds({ listUrl: settings.listUrl })
  const admin = await openAdmin(settings.admin, ALONE)
  await using server = listen({ app, ...settings.server, log, tracing, observers: admin.observers })
  await using shown = admin.show({ server })
  print(`stockroom serves the breeds page at ${server.address}\n`)
  shown.announce()
  await stopped
}
