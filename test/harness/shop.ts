import { dirname } from 'node:path'
import { type Client, client } from './client.ts'
import { type Engine, sqlite } from './engines.ts'
import { type Service, startService } from './service.ts'

/** A service on a database of its own, and a client of it. */
export interface ServedShop extends AsyncDisposable {
  readonly url: string
  readonly service: Service
  readonly api: Client
  /** The complete lines of the log so far. */
  readonly lines: () => Record<string, unknown>[]
}

/** The same on a SQLite file. */
export interface Shop extends ServedShop {
  readonly folder: string
  readonly file: string
}

type Options = Parameters<typeof startService>[1]

export async function startShop(options?: Options): Promise<Shop> {
  const shop = await startShopOn(sqlite, options)
  const file = shop.url.slice('sqlite:'.length)
  return { ...shop, folder: dirname(file), file }
}

export async function startShopOn(engine: Engine, options?: Options): Promise<ServedShop> {
  const open = new AsyncDisposableStack()
  const { url } = open.use(await engine.freshDatabase())
  const service = open.use(await startService(url, options))
  return {
    url,
    service,
    api: client(() => service.address),
    lines: () =>
      service
        .errors()
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
