import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { cacheFigures } from '../../../test/harness/catalog/cache-figures.ts'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { postKeyed } from '../../../test/harness/catalog/keyed.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { freePort } from '../../../test/harness/free-port.ts'
import { scrape, WITH_METRICS } from '../../../test/harness/metrics.ts'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { Load } from '../../../test/harness/postgres/load.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { caughtUp, pauseReplay, resumeReplay, startStandby } from '../../../test/harness/postgres/standby.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'
import { openTcpProxy, type TcpProxy } from '../../../test/harness/tcp-proxy.ts'
import { until } from '../../../test/harness/until.ts'

/** A primary and two hot standbys, each behind a proxy, so that a test can take it away. */

setDefaultTimeout(120_000)

const ROUNDS = 6

/** Replicas are used until they have lagged for a second. */
const NEARLY_OUT_OF_USE_MS = 700

/** Several times as long as a read may take if its replica hangs. */
const LONGEST_READ_MS = 20_000

const open = new AsyncDisposableStack()
let primary: PostgresServer
let standbys: readonly PostgresServer[]
let replicas: readonly TcpProxy[]
let database: TestDatabase
/** One that no test ends. */
let service: Service

beforeAll(async () => {
  primary = open.use(await PostgresServer.start())
  database = await createDatabase(primary.url())
  standbys = [
    open.use(await startStandby(primary, { name: 'first' })),
    open.use(await startStandby(primary, { name: 'second' })),
  ]
  replicas = await Promise.all(standbys.map(async ({ port }) => open.use(await openTcpProxy(port))))
  service = open.use(await start())
})
afterAll(() => open.disposeAsync())

test('reads are answered by the replicas', async () => {
  await client(() => service.address).create('/products/', sample.product)
  await replicasAnswer()
})

test('a client sees its own loads while the replicas lag', async () => {
  await replicasAnswer()
  for (const standby of standbys) await pauseReplay(standby)
  try {
    await seesItsOwnLoads(client(() => service.address))
  } finally {
    for (const standby of standbys) await resumeReplay(standby)
  }
})

test('a client sees its own writes while the replicas lag', async () => {
  const api = client(() => service.address)
  await replicasAnswer()
  for (const standby of standbys) await pauseReplay(standby)
  try {
    await seesItsOwnWrites(api)
  } finally {
    for (const standby of standbys) await resumeReplay(standby)
  }
})

test('a client sees its own write when the replicas have lagged for so long that they are nearly out of use', async () => {
  const api = client(() => service.address)
  await replicasAnswer()
  for (const standby of standbys) await pauseReplay(standby)
  try {
    await using sql = connected(database.url)
    await sql`INSERT INTO categories (name, description) VALUES ('Elsewhere', 'Written')`
    await Bun.sleep(NEARLY_OUT_OF_USE_MS)
    const id = await api.create('/categories/', sample.category)
    expect((await api.get(`/categories/${id}`)).status).toBe(200)
  } finally {
    for (const standby of standbys) await resumeReplay(standby)
  }
})

test('a client sees its own writes while the replicas follow', async () => {
  await seesItsOwnWrites(client(() => service.address))
})

test('a client sees its own writes in selections, while the replicas lag and while they follow', async () => {
  const api = client(() => service.address)
  await replicasAnswer()
  for (const standby of standbys) await pauseReplay(standby)
  try {
    await selectsItsOwnWrites(api)
  } finally {
    for (const standby of standbys) await resumeReplay(standby)
  }
  await allCaughtUp()
  await selectsItsOwnWrites(api)
})

test('reads go to the primary when the replicas are gone, and to the replicas when they are back', async () => {
  const load = await Load.start([service.address])
  for (const replica of replicas) {
    await replica.refuse()
    replica.cut()
  }
  await load.succeeded()
  for (const replica of replicas) await replica.accept()
  await load.succeeded()
  await load.stop()
  const before = await Promise.all(standbys.map(reads))
  await until(async () => {
    await readOften(reader(service), ['/categories/'])
    return (await Promise.all(standbys.map(reads))).every((count, which) => count > (before[which] ?? 0))
  })
  load.expectGoodAnswers()
  expect(load.counts()['503'] ?? 0).toBe(0)
  await load.expectNothingLost(client(() => service.address))
})

test('reads go on while a replica hangs', async () => {
  const load = await Load.start([service.address])
  for (const replica of replicas) replica.freeze()
  const began = performance.now()
  await load.succeeded()
  expect(performance.now() - began).toBeLessThan(LONGEST_READ_MS)
  for (const replica of replicas) replica.thaw()
  await load.succeeded()
  await load.stop()
  load.expectGoodAnswers()
  await load.expectNothingLost(client(() => service.address))
})

test('a service serves even if its replicas are down when it starts', async () => {
  for (const replica of replicas) await replica.refuse()
  try {
    await using late = await start()
    const api = client(() => late.address)
    const id = await api.create('/products/', sample.product)
    expect((await api.get(`/products/${id}`)).status).toBe(200)
  } finally {
    for (const replica of replicas) await replica.accept()
  }
})

test('a replica that cannot be used is named in one warning with the reason, and metrics tell how many are in use', async () => {
  const url = (port: number, change: (url: URL) => void = () => {}) => {
    const url = new URL(primary.url(database.name))
    url.port = String(port)
    change(url)
    return url.href
  }
  const closed = await freePort()
  const [good = 0, denied = 0] = standbys.map(({ port }) => port)
  const wrongPassword = url(denied, url => {
    url.password = 'wrong'
  })
  const addresses = [url(good), url(closed), wrongPassword, url(primary.port)]
  await using service = await startService(database.url, {
    flags: WITH_METRICS,
    environment: { DATABASE_REPLICA_URLS: addresses.join(',') },
  })
  const warnings = () => warningsOf(service).filter(message => message.includes('serves no reads'))
  const inUse = async () => (await scrape(service)).value('stockroom_postgres_replicas_in_use')
  await until(async () => warnings().length >= 3 && (await inUse()) === 1)
  expect((await scrape(service)).value('stockroom_postgres_replicas')).toBe(4)
  const of = (port: number) => warnings().filter(message => message.includes(`:${port}/`))
  expect(of(closed)).toEqual([expect.stringMatching(/Failed to connect: ECONNREFUSED/)])
  expect(of(denied)).toEqual([expect.stringMatching(/password authentication failed/)])
  expect(of(primary.port)).toEqual([expect.stringMatching(/not a standby/)])
  expect(of(good)).toEqual([])
  expect(service.errors()).not.toContain('wrong')
})

test('the log warns when a replica is lost, and says when it is back', async () => {
  const environment = { DATABASE_REPLICA_URLS: replicas[0]?.url(database.name) ?? '' }
  await using service = await startService(database.url, { flags: ['--access-log', 'off'], environment })
  const served = () => service.errors().split('serves reads').length - 1
  await until(() => served() === 1)
  expect(warningsOf(service)).toEqual([])
  await replicas[0]?.refuse()
  replicas[0]?.cut()
  await until(() => warningsOf(service).length > 0)
  await replicas[0]?.accept()
  await until(() => served() === 2)
  expect(warningsOf(service)).toEqual([expect.stringMatching(/the replica .* serves no reads: .+/)])
})

test('a write that a replica does not show within the bound is read from the primary', async () => {
  await using writer = await start()
  await allCaughtUp()
  for (const standby of standbys) await pauseReplay(standby)
  try {
    const id = await client(() => writer.address).create('/products/', sample.product)
    // A client that has written nothing itself.
    await until(async () => (await reader(service).get(`/products/${id}`)).status === 200)
  } finally {
    for (const standby of standbys) await resumeReplay(standby)
  }
})

test('a follower who returns gets what a node with replicas and without a feed has written meanwhile', async () => {
  const id = await (async () => {
    await using service = await start()
    await using follower = await EventFollower.at(service.address)
    await client(() => service.address).create('/products/', sample.product)
    await follower.count(1)
    return follower.lastId
  })()
  {
    await using service = await start(['--events-kept', '0'])
    await client(() => service.address).create('/products/', sample.product)
  }
  await using service = await start()
  await using follower = await EventFollower.at(service.address, `/events?since=${id}`)
  await follower.count(1)
  expect(follower.frames[0]).toMatchObject({ event: 'ready', data: { data: { resumed: true } } })
  expect(follower.types).toEqual(['product.created'])
})

test('a node with replicas clears no cache of one without them when it takes rows into the index or deletes old keys', async () => {
  const api = client(() => service.address)
  await using cached = await startService(database.url, { flags: ['--access-log', 'off'] })
  const products = await Promise.all(Array.from({ length: ROUNDS }, () => api.create('/products/', sample.product)))
  const paths = products.map(id => `/products/${id}`)
  await readOften(reader(cached), paths)
  await postKeyed(api, { key: 'old', path: '/categories/', body: sample.category })
  await using sql = connected(database.url)
  await sql`UPDATE idempotency_keys SET created_at = 0`
  await readOften(reader(cached), paths)

  await api.put(`/products/${products[0]}`, { ...sample.product, name: 'Okapi' })
  expect((await api.get('/products/?q=okapi')).body).toHaveLength(1)
  await readOften(reader(cached), paths)
  // It deletes expired keys at its start.
  await using _ = await start()
  await until(async () => (await sql`SELECT FROM idempotency_keys`).length === 0)
  await readOften(reader(cached), paths)

  await cached.stop()
  // At its first read, and after the update that was no node's.
  expect(cacheFigures(cached).clears).toBe(2)
})

async function start(flags: readonly string[] = []): Promise<Service> {
  return startService(database.url, {
    flags: ['--access-log', 'off', ...flags],
    environment: { DATABASE_REPLICA_URLS: replicas.map(({ url }) => url(database.name)).join(',') },
  })
}

/** The messages of the warnings in its log. */
function warningsOf(service: Service): string[] {
  const lines = service.errors().split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line)).flatMap(({ level, message }) => (level === 'warning' ? [message] : []))
}

/** A client that has written nothing. */
function reader(service: Service): Client {
  return client(() => service.address)
}

async function seesItsOwnWrites(api: Client): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = await api.create('/products/', sample.product)
    expect((await api.get(`/products/${id}`)).status).toBe(200)
    expect((await api.put(`/products/${id}`, { ...sample.product, price: round + 5 })).status).toBe(200)
    expect((await api.get(`/products/${id}`)).body).toMatchObject({ price: round + 5 })
    expect((await api.delete(`/products/${id}`)).status).toBe(200)
    expect((await api.get(`/products/${id}`)).status).toBe(404)
  }
}

async function seesItsOwnLoads(api: Client): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const { status, body } = await api.send('/categories/', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: JSON.stringify(sample.category),
    })
    expect(status).toBe(200)
    const [id] = z.object({ ids: z.array(z.int()) }).parse(body).ids
    expect((await api.get(`/categories/${id}`)).status).toBe(200)
  }
}

async function selectsItsOwnWrites(api: Client): Promise<void> {
  const category = await api.create('/categories/', sample.category)
  const user = await api.create('/users/', sample.user)
  for (let round = 0; round < ROUNDS / 3; round += 1) {
    const product = await api.create(`/products/${category}/products`, { ...sample.product, name: `Word${category}` })
    const review = await api.create('/reviews/', sample.review(product, user))
    for (const query of ['sort=-id', 'sort=-rating&min_rating=4', `q=word${category}`, 'sort=price&count=9']) {
      const list = `/products/?category_id=${category}&${query}&fields=id,category_id,rating`
      const { body } = await api.get(list)
      expect(body, list).toMatchObject([{ id: product, category_id: category, rating: { count: 1 } }])
    }
    expect((await api.get(`/reviews/?product_id=${product}&rating=4&fields=id`)).body).toEqual([{ id: review }])
    expect((await api.get(`/reviews/products/${product}?sort=-rating&count=5`)).headers.get('X-Total-Count')).toBe('1')
    await api.delete(`/products/${product}`)
    expect((await api.get(`/products/?category_id=${category}&sort=price`)).body).toEqual([])
    expect((await api.get(`/reviews/?product_id=${product}&count=5`)).headers.get('X-Total-Count')).toBe('0')
  }
}

/** Waits until most reads are answered by replicas. At first the primary answers: all nodes have to notice a replica before it is used. */
async function replicasAnswer(): Promise<void> {
  await allCaughtUp()
  await until(async () => {
    const before = await Promise.all([primary, ...standbys].map(reads))
    await readOften(reader(service), ['/products/', '/categories/'])
    const after = await Promise.all([primary, ...standbys].map(reads))
    const [elsewhere = 0, ...there] = after.map((count, which) => count - (before[which] ?? 0))
    return Math.min(...there) > elsewhere
  })
}

async function allCaughtUp(): Promise<void> {
  for (const standby of standbys) await caughtUp(standby, primary)
}

/** How many transactions a server has run in this database; the test itself asks over another database. */
async function reads(server: PostgresServer): Promise<number> {
  const [row] = await server.ask<{ count: number }>(
    sql => sql`SELECT xact_commit::int AS count FROM pg_stat_database WHERE datname = ${database.name}`,
  )
  return row?.count ?? 0
}

async function readOften(api: Client, paths: readonly string[]): Promise<void> {
  for (let time = 0; time < ROUNDS; time += 1) {
    for (const { status } of await Promise.all(paths.map(path => api.get(path)))) expect(status).toBe(200)
  }
}
