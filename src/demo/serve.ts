import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandLine } from '../program/config.ts'
import { startLog } from '../program/log.ts'
import { print } from '../program/output.ts'
import { listen } from '../server/listen.ts'
import { readServerSettings } from '../server/settings.ts'
import { stopSignal } from '../server/stop.ts'
import { createDemo } from './app.ts'
import { startCatalog } from './catalog-service.ts'
import { CLIENT_SOURCE } from './client-source.js'
import { openShop } from './opening.ts'
import { demoHost, demoPort } from './settings.ts'
import { Traffic } from './traffic.ts'

export async function serveDemo(line: CommandLine): Promise<void> {
  const settings = { ...readServerSettings(line, demoPort), host: line.value(demoHost) }
  startLog('warning')
  const stopped = stopSignal()
  await using open = new AsyncDisposableStack()
  const folder = open.adopt(mkdtempSync(join(tmpdir(), 'stockroom-demo-')), path =>
    rmSync(path, { recursive: true, force: true }),
  )
  const catalog = open.use(startCatalog(join(folder, 'shop.db')))
  const address = await Promise.race([stopped, catalog.address])
  if (!address) return
  const { createClient } = await loadClient(join(folder, 'client'))
  // The service is on this machine, so no proxy that the environment names is asked.
  const shop = createClient(address, { fetch: (url, init) => fetch(url, { ...init, proxy: false }) })
  const opening = open.adopt(new AbortController(), controller => controller.abort())
  const opened = await Promise.race([stopped, openShop(shop, opening.signal), catalog.failed])
  if (!opened) return
  const traffic = open.use(new Traffic(shop, opened))
  const server = open.use(listen({ app: createDemo({ catalog: address, shop, opened, traffic }), ...settings }))
  traffic.start()
  print(
    `stockroom serves the demo shop at ${server.address}\n` +
      `${opened.products.length} products; prices change while you watch. Ctrl-C stops it and deletes its data.\n`,
  )
  await Promise.race([stopped, catalog.failed])
}

/**
 * Loads the client that browsers get into this process, by way of files in `folder`: a bundler cannot import one file as text
 * and as a module.
 */
async function loadClient(folder: string): Promise<typeof import('stockroom/client')> {
  for (const [name, text] of Object.entries(CLIENT_SOURCE)) await Bun.write(join(folder, name), text)
  return import(join(folder, 'index.js'))
}
