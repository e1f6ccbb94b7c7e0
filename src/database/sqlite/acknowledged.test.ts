import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { openPipeline } from '../../../test/harness/pipeline.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'

setDefaultTimeout(60_000)

/** Clients that keep the reading process busy. */
const VISITORS = 8
const WRITES = 250
const WRITES_AMID_LONG_LISTS = 60
const LONG_LIST_ITEMS = 450
const PROMPTS = 200

const FLAGS = ['--access-log', 'off']

/** Gets a path and answers the parsed body. */
type Get = (path: string) => Promise<unknown>

/** How requests reach a process. */
const CONNECTIONS: readonly Connections[] = [
  {
    name: 'new connections',
    takesStreams: true,
    open: async address => ({
      get: async path => (await fetch(address + path, { keepalive: false, headers: { Connection: 'close' } })).json(),
      [Symbol.asyncDispose]: async () => {},
    }),
  },
  {
    name: 'kept connections',
    takesStreams: true,
    open: async address => ({
      get: async path => (await fetch(address + path)).json(),
      [Symbol.asyncDispose]: async () => {},
    }),
  },
  // The runtime closes a connection on which a request arrives while an answer streams.
  { name: 'a connection with pipelined requests', takesStreams: false, open: openPipeline },
]

interface Connections {
  readonly name: string
  readonly takesStreams: boolean
  readonly open: (address: string) => Promise<Connection>
}

interface Connection extends AsyncDisposable {
  readonly get: Get
}

describe('two processes on one SQLite file: no read is older than a write that was acknowledged before it', () => {
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

  /** Writes one price after the other and reads each at once through the other process. */
  const staleReads = async (get: Get, path: string, writes: number): Promise<string[]> => {
    const stale: string[] = []
    for (let price = 1; price <= writes; price += 1) {
      expect((await writer.put(`/products/${product}`, { ...sample.product, price })).status).toBe(200)
      const shown = priceIn(await get(path))
      if (shown !== price) stale.push(`wrote ${price}, read ${shown}`)
    }
    return stale
  }

  for (const { name, takesStreams, open: connect } of CONNECTIONS) {
    const reads: readonly (readonly [what: string, path: () => string, writes: number])[] = [
      ['a resource', () => `/products/${product}`, WRITES],
      ['a list', () => '/products/?limit=50', WRITES],
      ['the reviews of a product', () => `/reviews/products/${product}`, WRITES],
      ['the reviews of a user', () => `/reviews/users/${user}`, WRITES],
    ]
    const streamed = [
      'a list that streams',
      () => `/products/?limit=${LONG_LIST_ITEMS}`,
      WRITES_AMID_LONG_LISTS,
    ] as const
    for (const [what, pathOf, writes] of takesStreams ? [...reads, streamed] : reads) {
      test(`${what}, over ${name}`, async () => {
        await using connection = await connect(readerAddress)
        const path = pathOf()
        const visits = [path, '/healthz', `/products/${product}`].map(visited => () => connection.get(visited))
        expect(await amidVisitors(visits, () => staleReads(connection.get, path, writes))).toEqual([])
      })
    }
  }
})

test('two chat processes on one SQLite file: a prompt that one has stored is there at the other', async () => {
  await using server = await startChatServer()
  await using other = await server.startAnother()
  const visit = (path: string) => other.chat.get(path, { keepalive: false, headers: { Connection: 'close' } })
  const visits = ['/chat/nobody/status', '/healthz'].map(path => () => visit(path))
  const missing: string[] = []
  await amidVisitors(visits, async () => {
    for (let asked = 1; asked <= PROMPTS; asked += 1) {
      const { status } = await server.chat.post(`turn-${asked}`, 'What is a spade?')
      expect(status).toBe(200)
      const { text } = await visit(`/chat/turn-${asked}`)
      if (!text.includes('>What is a spade?</div>')) missing.push(`turn-${asked}`)
    }
  })
  expect(missing).toEqual([])
})

/** Does `work` while visitors keep the reading process busy, so that requests arrive amid its work. */
async function amidVisitors<Result>(
  visits: readonly (() => Promise<unknown>)[],
  work: () => Promise<Result>,
): Promise<Result> {
  let isOver = false
  const visitors = Array.from({ length: VISITORS }, async () => {
    while (!isOver) for (const visit of visits) await visit()
  })
  try {
    return await work()
  } finally {
    isOver = true
    await Promise.all(visitors)
  }
}

/** Of a product, a list whose first item it is, or a list of its reviews. */
function priceIn(body: unknown): unknown {
  const item: unknown = Array.isArray(body) ? body[0] : body
  const product: unknown = memberOf(item, 'product') ?? item
  return memberOf(product, 'price')
}

function memberOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
}
