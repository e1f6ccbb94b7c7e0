import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from 'bun:test'
import { join } from 'node:path'
import { campaign, type Effort } from '../../../test/harness/campaign.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { amidVisitors } from '../../../test/harness/visitors.ts'

setDefaultTimeout(120_000)

/** In a round; `npm run torture` repeats it. */
const WRITES = 20
const WRITES_AMID_LONG_LISTS = 6
const LONG_LIST_ITEMS = 450

const FLAGS = ['--access-log', 'off']

/** Gets a path and resolves to the parsed body. */
type Get = (path: string) => Promise<unknown>

type Connections = (address: string) => Get

const newConnections: Connections = address => async path =>
  (await fetch(address + path, { keepalive: false, headers: { Connection: 'close' } })).json()

const keptConnections: Connections = address => async path => (await fetch(address + path)).json()

describe('two processes on one SQLite file', () => {
  const open = new AsyncDisposableStack()
  let writer: Client
  let readerAddress = ''
  let product = 0
  let user = 0
  beforeAll(async () => {
    const folder = open.use(temporaryFolder())
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    const [writing, reading] = [
      open.use(await startService(database, { flags: FLAGS })),
      open.use(await startService(database, { flags: FLAGS })),
    ]
    writer = client(() => writing.address)
    readerAddress = reading.address
    product = await writer.create('/products/', sample.product)
    user = await writer.create('/users/', sample.user)
    await writer.create('/reviews/', sample.review(product, user))
    for (let made = 1; made < LONG_LIST_ITEMS; made += 1) await writer.create('/products/', sample.product)
  })
  afterAll(() => open.disposeAsync())

  /** Writes one price after another and reads each at once through the other process. */
  const staleReads = async (get: Get, path: string, writes: number): Promise<string[]> => {
    const stale: string[] = []
    for (let price = 1; price <= writes; price += 1) {
      expect((await writer.put(`/products/${product}`, { ...sample.product, price })).status).toBe(200)
      const shown = priceIn(await get(path))
      if (shown !== price) stale.push(`wrote ${price}, read ${shown}`)
    }
    return stale
  }

  /** Expects that no read over such a connection is older than an acknowledged write, while visitors keep the reader busy. */
  const expectNothingStale = async (
    { rounds }: Effort,
    connections: Connections,
    path: string,
    writes = WRITES,
  ): Promise<void> => {
    const get = connections(readerAddress)
    const visits = [path, '/healthz', `/products/${product}`].map(visited => () => get(visited))
    for (const _ of rounds(1)) {
      expect(await amidVisitors(visits, () => staleReads(get, path, writes))).toEqual([])
    }
  }

  campaign('over new connections, no read of a resource is older than an acknowledged write', async effort => {
    await expectNothingStale(effort, newConnections, `/products/${product}`)
  })

  campaign('over new connections, no read of a list is older than an acknowledged write', async effort => {
    await expectNothingStale(effort, newConnections, '/products/?limit=50')
  })

  campaign(
    'over new connections, no read of the reviews of a product is older than an acknowledged write',
    async effort => {
      await expectNothingStale(effort, newConnections, `/reviews/products/${product}`)
    },
  )

  campaign(
    'over new connections, no read of the reviews of a user is older than an acknowledged write',
    async effort => {
      await expectNothingStale(effort, newConnections, `/reviews/users/${user}`)
    },
  )

  campaign('over new connections, no read of a list that streams is older than an acknowledged write', async effort => {
    await expectNothingStale(effort, newConnections, `/products/?limit=${LONG_LIST_ITEMS}`, WRITES_AMID_LONG_LISTS)
  })

  campaign('over kept connections, no read of a resource is older than an acknowledged write', async effort => {
    await expectNothingStale(effort, keptConnections, `/products/${product}`)
  })

  campaign('over kept connections, no read of a list is older than an acknowledged write', async effort => {
    await expectNothingStale(effort, keptConnections, '/products/?limit=50')
  })

  campaign(
    'over kept connections, no read of the reviews of a product is older than an acknowledged write',
    async effort => {
      await expectNothingStale(effort, keptConnections, `/reviews/products/${product}`)
    },
  )

  campaign(
    'over kept connections, no read of the reviews of a user is older than an acknowledged write',
    async effort => {
      await expectNothingStale(effort, keptConnections, `/reviews/users/${user}`)
    },
  )

  campaign(
    'over kept connections, no read of a list that streams is older than an acknowledged write',
    async effort => {
      await expectNothingStale(effort, keptConnections, `/products/?limit=${LONG_LIST_ITEMS}`, WRITES_AMID_LONG_LISTS)
    },
  )
})

/** The price in a product, in a list that starts with it, or in a list of its reviews. */
function priceIn(body: unknown): unknown {
  const item: unknown = Array.isArray(body) ? body[0] : body
  const product: unknown = memberOf(item, 'product') ?? item
  return memberOf(product, 'price')
}

function memberOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
}
