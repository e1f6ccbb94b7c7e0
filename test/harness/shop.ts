import { join } from 'node:path'
import { type Client, client } from './client.ts'
import { type Service, startService } from './service.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** A service on a new SQLite file, and a client of it. */
export interface Shop extends AsyncDisposable {
  readonly service: Service
  readonly api: Client
  readonly folder: string
  readonly file: string
  readonly url: string
  /** The complete lines of the log so far. */
  readonly lines: () => Record<string, unknown>[]
}

export async function startShop(options: Parameters<typeof startService>[1] = {}): Promise<Shop> {
  const open = new AsyncDisposableStack()
  const folder = open.use(temporaryFolder()).path
  const file = join(folder, 'shop.db')
  const url = `sqlite:${file}`
  const service = open.use(await startService(url, options))
  return {
    service,
    api: client(() => service.address),
    folder,
    file,
    url,
    lines: () =>
      service
        .errors()
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
