import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { type Client, client } from '../../../test/harness/client.ts'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { caughtUp, pauseReplay, promote, resumeReplay, startStandby } from '../../../test/harness/postgres/standby.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'
import { openTcpProxy, type TcpProxy } from '../../../test/harness/tcp-proxy.ts'
import { until } from '../../../test/harness/until.ts'

/**
 * A primary and a standby of it, and a proxy whose address leads to one of them. To be led to the standby is what a node sees
 * for a while after a switchover: the old primary comes back as a standby of the new one, before the address changes.
 */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const UNCACHED = { CACHE_BYTES: '0' }

const PATHS = ['/products/', '/products/?limit=1000', '/categories/'] as const

const WRITES = 64

const Priced = z.object({ price: z.number() })

const open = new AsyncDisposableStack()
let primary: PostgresServer
let standby: PostgresServer
let database: TestDatabase
let address: TcpProxy

beforeAll(async () => {
  primary = open.use(await PostgresServer.start())
  database = await createDatabase(primary.url())
  standby = open.use(await startStandby(primary, { name: 'standby' }))
  address = open.use(await openTcpProxy(primary.port))
})
beforeEach(async () => {
  address.switchTo(primary.port)
  await caughtUp(standby, primary)
})
afterAll(() => open.disposeAsync())

describe('while the address leads to a standby', () => {
  test('reads are refused, and never its rows, with a cache', () => refusesRowsOfStandby({}))

  test('reads are refused, and never its rows, without a cache', () => refusesRowsOfStandby(UNCACHED))

  test('reads that are planned for their parameters are refused, too', async () => {
    await using opened = await openedDatabase(address.url(database.name))
    await caughtUp(standby, primary)
    address.switchTo(standby.port)
    address.cut()
    const sql = 'SELECT name FROM migrations'
    const failureOf = (read: Promise<unknown>) => read.then(() => 'it was answered', String)
    await until(async () => (await failureOf(opened.readPrimary(sql))).includes('recovery is in progress'))
    expect(await failureOf(opened.readPlanned(ask => ask(sql)))).toContain('recovery is in progress')
  })
})

test('when a load meets a standby, no other connection goes on to the old server', async () => {
  await using service = await start(UNCACHED)
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  address.switchTo(standby.port)
  const loaded = await api.send('/products/', {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-ndjson' },
    body: JSON.stringify(sample.product),
  })
  expect(loaded).toMatchObject({ status: 503, body: { detail: expect.stringMatching(/database/) } })
  expect((await api.get(`/products/${id}`)).status).toBe(503)
})

describe('when the address leads from a standby to the primary', () => {
  test('a node that only reads follows it, with a cache', () => readerFollows({}))

  test('a node that only reads follows it, without a cache', () => readerFollows(UNCACHED))

  test('a node whose reads and writes go elsewhere is not ready, shows nothing stale, and both follow', async () => {
    await using service = await start(UNCACHED)
    const api = client(() => service.address)
    const id = await api.create('/products/', sample.product)
    await caughtUp(standby, primary)
    await pauseReplay(standby)
    try {
      await leadToStandby(api, id)
      address.switchTo(primary.port)
      for (let price = 2; price < 40; price += 1) {
        const { status } = await api.put(`/products/${id}`, { ...sample.product, price })
        const read = await api.get(`/products/${id}`)
        expect([200, 503]).toContain(read.status)
        if (status === 200 && read.status === 200) expect(Priced.parse(read.body).price).toBe(price)
      }
      await until(async () => (await api.get('/readyz')).status === 200)
      expect((await api.get(`/products/${id}`)).status).toBe(200)
    } finally {
      await resumeReplay(standby)
    }
  })
})

test('if writes are led to another primary because their connections were cut, reads follow at once', async () => {
  await using promoted = await startStandby(primary, { name: 'promoted' })
  await using service = await start(UNCACHED)
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  expect((await api.get(`/products/${id}`)).status).toBe(200)
  await caughtUp(promoted, primary)
  await promote(promoted)
  await until(async () => !(await isStandby(promoted)))
  address.switchTo(promoted.port)
  // The old primary has not noticed, and the connections of the reads to it stay open.
  await cutIdleWriters()
  await until(async () => (await put(api, id, 60)) === 200)
  for (let times = 0; times < 20; times += 1) {
    expect((await api.get(`/products/${id}`)).body).toMatchObject({ price: 60 })
  }
})

test('many refused writes replace the connections once, and a write that fails late on an old one does not do it again', async () => {
  await using service = await start({ ...UNCACHED, DATABASE_CONNECTIONS: '2' })
  const api = client(() => service.address)
  const ids = await Promise.all(Array.from({ length: WRITES }, () => api.create('/products/', sample.product)))
  await writeSlowly()
  const slow = api.post('/categories/', { ...sample.category, name: 'Slow' })
  await until(async () => (await slowWriters()).length === 1)
  const before = address.connections()
  await setReadOnly(true)
  const refused = Promise.all(ids.map(id => put(api, id, 2)))
  await until(async () => {
    await put(api, ids[0] ?? 0, 2)
    return address.connections() > before
  })
  await setReadOnly(false)
  await until(async () => (await put(api, ids[0] ?? 0, 3)) === 200)
  const useAll = () => Promise.all(ids.flatMap(id => [put(api, id, 4), api.get(`/products/${id}`)]))
  await useAll()
  const replaced = address.connections()
  const writers = await slowWriters()
  await primary.ask(sql => sql`SELECT pg_terminate_backend(pid) FROM unnest(${sql.array(writers, 'INT')}) AS pid`)
  await Promise.all([slow, refused])
  await useAll()
  expect(replaced - before).toBeLessThan(WRITES / 2)
  expect(address.connections()).toBe(replaced)
})

test('writes that are refused one after the other replace the connections only four times a second', async () => {
  await using service = await start({ ...UNCACHED, DATABASE_CONNECTIONS: '1' })
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  await setReadOnly(true)
  try {
    const before = address.connections()
    const began = performance.now()
    for (let times = 0; times < 50; times += 1) expect(await put(api, id, 2)).toBe(503)
    const replacedMax = (performance.now() - began) / 250 + 2
    // One for reads, one for writes, and one or two that look whether the server can be reached.
    expect(address.connections() - before).toBeLessThanOrEqual(4 * replacedMax)
  } finally {
    await setReadOnly(false)
  }
})

test('a replica that is promoted is not read from any more', async () => {
  await using replica = await startStandby(primary, { name: 'replica' })
  await using service = await start({ DATABASE_REPLICA_URLS: replica.url(database.name) })
  const api = client(() => service.address)
  const id = await api.create('/products/', { ...sample.product, price: 1 })
  await until(() => service.errors().includes('serves reads'))
  await promote(replica)
  await until(async () => !(await isStandby(replica)))
  await using sql = connected(replica.url(database.name))
  await sql`UPDATE products SET price = 2 WHERE id = ${id}`
  await until(async () => {
    const { status, body } = await api.get(`/products/${id}`)
    expect({ status, body }).toMatchObject({ status: 200, body: { price: 1 } })
    return service.errors().includes('serves no reads')
  })
})

/** The standby lags, so that its rows can be told from those of the primary. */
async function refusesRowsOfStandby(environment: Record<string, string>): Promise<void> {
  await using service = await start(environment)
  const api = client(() => service.address)
  const id = await api.create('/products/', { ...sample.product, price: 1 })
  for (const path of [...PATHS, `/products/${id}`]) expect((await api.get(path)).status, path).toBe(200)
  await caughtUp(standby, primary)
  await pauseReplay(standby)
  try {
    expect((await api.put(`/products/${id}`, { ...sample.product, price: 2 })).status).toBe(200)
    await leadToStandby(api, id)
    const answers = [...PATHS, `/products/${id}`, '/readyz'].map(async path => ({ path, ...(await api.get(path)) }))
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringMatching(/database/) } })
      expect(answer.headers.get('Retry-After')).toMatch(/^[1-9][0-9]*$/)
    }
  } finally {
    await resumeReplay(standby)
  }
}

async function readerFollows(environment: Record<string, string>): Promise<void> {
  await using service = await start(environment)
  const api = client(() => service.address)
  const early = await createElsewhere()
  expect((await api.get(`/products/${early}`)).status).toBe(200)
  await caughtUp(standby, primary)
  await pauseReplay(standby)
  try {
    await leadToStandby(api, early)
    const late = await createElsewhere()
    address.switchTo(primary.port)
    await until(async () => (await api.get(`/products/${late}`)).status === 200)
    for (const path of PATHS) expect((await api.get(path)).status, path).toBe(200)
    await until(async () => (await api.get('/readyz')).status === 200)
  } finally {
    await resumeReplay(standby)
  }
}

/** Lets all connections lead to the standby, and waits until the node has met it. */
async function leadToStandby(api: Client, id: number): Promise<void> {
  address.switchTo(standby.port)
  address.cut()
  await until(async () => {
    await Promise.all([`/products/${id}`, '/readyz'].map(path => api.get(path)))
    return (await connectionsTo(standby)) > 0
  })
}

async function connectionsTo(server: PostgresServer): Promise<number> {
  const rows = await server.ask(
    sql => sql`SELECT FROM pg_stat_activity WHERE datname = ${database.name} AND application_name = 'stockroom'`,
  )
  return rows.length
}

/** Cuts all connections but those that have just read. */
async function cutIdleWriters(): Promise<void> {
  await primary.ask(
    sql => sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = ${database.name} AND application_name = 'stockroom' AND ltrim(query, E' \\n') NOT LIKE 'SELECT%'`,
  )
}

async function isStandby(server: PostgresServer): Promise<boolean> {
  const [row] = await server.ask<{ standby: boolean }>(sql => sql`SELECT pg_is_in_recovery() AS standby`)
  return row?.standby !== false
}

/** Makes the server refuse writes on the connections that are open, too. */
async function setReadOnly(isReadOnly: boolean): Promise<void> {
  const value = isReadOnly ? 'on' : 'off'
  await primary.ask(sql => sql.unsafe(`ALTER SYSTEM SET default_transaction_read_only = ${value}`))
  await primary.ask(sql => sql`SELECT pg_reload_conf()`)
  await until(async () => {
    const [row] = await primary.ask<{ value: string }>(
      sql => sql`SELECT current_setting('default_transaction_read_only') AS value`,
    )
    return row?.value === value
  })
}

/** A new category named Slow takes nearly as long as a statement may. */
async function writeSlowly(): Promise<void> {
  await using sql = connected(database.url)
  await sql.unsafe(`
    CREATE FUNCTION write_slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(4); RETURN NEW; END $$;
    CREATE TRIGGER slowly BEFORE INSERT ON categories FOR EACH ROW WHEN (NEW.name = 'Slow') EXECUTE FUNCTION write_slowly()`)
}

async function slowWriters(): Promise<number[]> {
  const rows = await primary.ask<{ pid: number }>(
    sql => sql`SELECT pid FROM pg_stat_activity WHERE datname = ${database.name} AND wait_event = 'PgSleep'`,
  )
  return rows.map(({ pid }) => pid)
}

/** Creates a product without the service. */
async function createElsewhere(): Promise<number> {
  await using sql = connected(database.url)
  const [row] = await sql<{ id: number }[]>`
    INSERT INTO products (name, description, price) VALUES ('Spade', 'Steel', 1) RETURNING id::int`
  return row?.id ?? 0
}

async function put(api: Client, id: number, price: number): Promise<number> {
  return (await api.put(`/products/${id}`, { ...sample.product, price })).status
}

function start(environment: Record<string, string>): Promise<Service> {
  return startService(address.url(database.name), { flags: FLAGS, environment })
}
