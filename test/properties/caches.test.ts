import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout } from 'bun:test'
import { join } from 'node:path'
import fc from 'fast-check'
import { campaign } from '../harness/campaign.ts'
import { cacheFigures } from '../harness/catalog/cache-figures.ts'
import { type Client, client } from '../harness/client.ts'
import { QUICK_HASHES, WITHOUT_CACHE } from '../harness/contract.ts'
import { connected, createDatabase } from '../harness/postgres/database.ts'
import { PostgresServer } from '../harness/postgres/server.ts'
import { sample } from '../harness/samples.ts'
import { startService } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const CACHING_PROCESSES = 2
const ROUNDS = 3
/** Requests of one round, all at the same time. */
const BURST = 16
/** Few, so that requests meet at the same resources. */
const IDS = 4
/** Rounds in which another program writes, too. */
const FOREIGN_WRITE_INTERVAL = 2
/** A user whose password does not change, because hashing one takes longer than anything else. */
const KEEPING_PASSWORD = { ...sample.user, password: '**********' }

/** A database that several processes serve, and that another program may write to. */
interface SharedDatabase extends AsyncDisposable {
  readonly url: string
  readonly run: (sql: string) => Promise<unknown>
}

describe('caches of several processes on SQLite', () => {
  staysEqual(async () => {
    const folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    return {
      url: `sqlite:${file}`,
      run: async sql => {
        using other = new Database(file)
        other.run('PRAGMA busy_timeout = 10000')
        other.run('PRAGMA foreign_keys = ON')
        other.run(sql)
      },
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  })
})

describe('caches of several nodes on PostgreSQL', () => {
  // Not the shared server: what others do in their databases would clear the caches all the time.
  staysEqual(async () => {
    const server = await PostgresServer.start()
    const { url } = await createDatabase(server.url())
    return {
      url,
      run: async sql => {
        await using other = connected(url)
        await other.unsafe(sql)
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  })
})

function staysEqual(share: () => Promise<SharedDatabase>): void {
  campaign('after any writes and reads at the same time, each process answers as one without a cache', async effort => {
    await using database = await share()
    await using open = new AsyncDisposableStack()
    const start = async (flags: readonly string[] = []) =>
      open.use(
        await startService(database.url, { flags: ['--access-log', 'off', ...flags], environment: QUICK_HASHES }),
      )
    const caching = [await start()]
    while (caching.length < CACHING_PROCESSES) caching.push(await start())
    const reference = await start(WITHOUT_CACHE)
    const [truth, ...apis] = [reference, ...caching].map(({ address }) => client(() => address))
    if (!truth) throw new Error('no process is without a cache')
    await createOfEach(truth)
    for (const round of effort.rounds(ROUNDS)) {
      const burst = fc.sample(request, { seed: round, numRuns: BURST })
      const sent = burst.map((send, place) => send(apis[place % apis.length] ?? truth))
      if (round % FOREIGN_WRITE_INTERVAL === 0) sent.push(database.run(foreignWrite(round)))
      await Promise.all(sent)
      for (const path of PATHS) {
        const expected = await shownBy(truth, path)
        for (const api of apis) expect(await shownBy(api, path), `${path} in round ${round}`).toEqual(expected)
      }
      await createOfEach(truth)
    }
    for (const service of caching) {
      await service.stop()
      const { hits, misses } = cacheFigures(service)
      expect(hits).toBeGreaterThan(misses / 10)
    }
  })
}

const id = fc.integer({ min: 1, max: IDS })
const path = fc.constantFrom(...pathsOf())
/** Reads are as many as writes, so that caches fill while writes go on. */
const request: fc.Arbitrary<(api: Client) => Promise<unknown>> = fc.oneof(
  { weight: 12, arbitrary: path.map(read => (api: Client) => api.get(read)) },
  { weight: 2, arbitrary: fc.tuple(id, id).map(([product, user]) => post('/reviews/', sample.review(product, user))) },
  {
    weight: 4,
    arbitrary: fc.tuple(id, id, id).map(([of, to, user]) => patch(`/reviews/${of}`, sample.review(to, user))),
  },
  { weight: 3, arbitrary: fc.tuple(id, id).map(([of, price]) => put(`/products/${of}`, { ...sample.product, price })) },
  { weight: 1, arbitrary: id.map(of => post(`/products/${of}/products`, sample.product)) },
  {
    weight: 1,
    arbitrary: fc.tuple(id, id).map(([of, n]) => put(`/categories/${of}`, { name: `${n}`, description: '' })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(id, id).map(([of, n]) => patch(`/users/${of}`, { ...KEEPING_PASSWORD, name: `${n}` })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('products', 'reviews', 'reviews', 'users', 'categories'),
        fc.integer({ min: IDS, max: 30 }),
      )
      .map(
        ([kind, of]) =>
          (api: Client) =>
            api.delete(`/${kind}/${of}`),
      ),
  },
)

const PATHS = pathsOf()

function pathsOf(): string[] {
  const ids = Array.from({ length: IDS + 3 }, (_, place) => place + 1)
  return [
    ...['categories', 'products', 'users', 'reviews'].flatMap(kind => [
      `/${kind}/`,
      `/${kind}/?skip=2&limit=3`,
      ...ids.map(of => `/${kind}/${of}`),
    ]),
    ...ids.flatMap(of => [`/products/${of}/products`, `/reviews/products/${of}`, `/reviews/users/${of}`]),
    '/reviews/products/1/users/2',
    ...ids.flatMap(of => [`/products/${of}?fields=category_id,rating`, `/reviews/${of}?fields=comment`]),
    ...['/products/?sort=-price&count=9&fields=*,category_id,rating', '/products/?sort=-rating&min_rating=3&limit=3'],
    ...['/products/?category_id=0,1,2&limit=2&count=9', '/products/?q=spade&fields=id,category_id'],
    ...['/categories/?sort=name', '/users/?sort=-name&fields=id,name,reviews', '/reviews/?fields=id,comment'],
    ...['/reviews/?rating=4&product_id=1,2,3&count=9', '/reviews/products/1?sort=-rating', '/reviews/users/2?rating=4'],
  ]
}

function post(at: string, body: unknown) {
  return (api: Client) => api.post(at, body)
}

function put(at: string, body: unknown) {
  return (api: Client) => api.put(at, body)
}

function patch(at: string, body: unknown) {
  return (api: Client) => api.patch(at, body)
}

async function createOfEach(api: Client): Promise<void> {
  await api.post('/categories/', sample.category)
  await api.post('/products/', sample.product)
  await api.post('/users/', sample.user)
  for (let user = 1; user <= 2; user += 1) await api.post('/reviews/', sample.review(1, user))
}

function foreignWrite(round: number): string {
  const writes = [
    `UPDATE products SET price = price + ${round + 1}`,
    'UPDATE reviews SET product_id = 2 WHERE product_id = 1 AND rating = 4 AND id > 5',
    "UPDATE users SET name = 'Grace' WHERE id = 2",
  ]
  return writes[(round / FOREIGN_WRITE_INTERVAL) % writes.length] ?? ''
}

async function shownBy(api: Client, at: string) {
  const { status, headers, body } = await api.get(at)
  return { status, link: headers.get('Link'), body }
}
