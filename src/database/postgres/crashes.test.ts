import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, client } from '../../../test/harness/client.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { caughtUp, startStandby } from '../../../test/harness/postgres/standby.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

/** A process of PostgreSQL is killed, as by the kernel when memory runs out. PostgreSQL then recovers without a restart. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** How many reads put a resource into the cache. */
const READS = 3

/** Rows that a standby must replay after a crash, with about 250 bytes of log each. */
const ROWS_TO_REPLAY = 100_000

test('what a node cached before a crash of PostgreSQL is not answered after it', async () => {
  // The log of what is not committed stays in memory, so that its transaction's number is given again after the crash.
  await using server = await PostgresServer.start({ durable: true, settings: { wal_writer_delay: '10s' } })
  await using database = await createDatabase(server.url())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const id = await api.create('/products/', { ...sample.product, price: 10 })

  await until(async () => {
    await until(async () => (await api.put(`/products/${id}`, { ...sample.product, price: 10 })).status === 200)
    {
      await using sql = connected(database.url)
      await sql.unsafe('BEGIN')
      await sql`INSERT INTO categories (name, description) VALUES ('Never', 'committed')`
      await sql.unsafe('ROLLBACK')
    }
    for (let time = 0; time < READS; time += 1) await pricesOf(api, id)
    const before = await snapshotOf(database.url)

    await crash(server, database.url)
    await until(() => canConnect(database.url))
    {
      await using sql = connected(database.url)
      await sql`UPDATE products SET price = 99 WHERE id = ${id}`
    }
    const after = await snapshotOf(database.url)

    await until(async () => (await api.get(`/products/${id}`)).status === 200)
    expect(await pricesOf(api, id)).toEqual([99, 99])
    // So that a node could take it for the one before. If the machine pauses, the log may have been written.
    return after === before
  })
})

test('a replica that recovers from a crash is not read from while it shows its past', async () => {
  // Pages stay in memory, so that recovery begins with the oldest log, and lets readers in before it is through.
  const settings = {
    shared_buffers: '512MB',
    max_wal_size: '8GB',
    checkpoint_timeout: '1h',
    bgwriter_lru_maxpages: '0',
  }
  await using primary = await PostgresServer.start({ settings })
  await using database = await createDatabase(primary.url())
  await using standby = await startStandby(primary, { name: 'crashing', settings })
  const standbyUrl = standby.url(database.name)
  await using service = await startService(database.url, {
    flags: FLAGS,
    environment: { DATABASE_REPLICA_URLS: standbyUrl },
  })
  const api = client(() => service.address)
  const id = await api.create('/products/', { ...sample.product, price: 1 })
  {
    await using sql = connected(database.url)
    await sql.unsafe('CREATE TABLE ballast (number int PRIMARY KEY, text text)')
    await sql`INSERT INTO ballast SELECT number, repeat('x', 150) FROM generate_series(1, ${ROWS_TO_REPLAY}::int) AS number`
  }
  expect((await api.put(`/products/${id}`, { ...sample.product, price: 2 })).status).toBe(200)
  await caughtUp(standby, primary)
  await isReadFrom(standby, api, id)

  const read: number[] = []
  let isOver = false
  const reading = (async () => {
    while (!isOver) {
      const { status, body } = await api.get(`/products/${id}`)
      if (status === 200) read.push(priceOf(body))
    }
  })()
  await until(async () => {
    await crash(standby, standbyUrl)
    const shownByStandby = await pricesUntilCaughtUp(standbyUrl, id)
    await isReadFrom(standby, api, id)
    // If the machine pauses, it may catch up before it is asked.
    return shownByStandby.includes(1)
  })
  isOver = true
  await reading
  expect(new Set(read)).toEqual(new Set([2]))
})

/** The prices of a product by itself and in its list. */
async function pricesOf(api: Client, id: number): Promise<number[]> {
  const list = (await api.get(`/products/?after_id=${id - 1}&limit=1`)).body
  return [priceOf((await api.get(`/products/${id}`)).body), priceOf(Array.isArray(list) ? list[0] : null)]
}

function priceOf(body: unknown): number {
  return typeof body === 'object' && body !== null && 'price' in body ? Number(body.price) : Number.NaN
}

/** Kills a process that serves a connection of this test; resolves when all others have ended, too. */
async function crash(server: PostgresServer, url: string): Promise<void> {
  const sql = connected(url)
  const [backend] = await sql<{ id: number }[]>`SELECT pg_backend_pid() AS id`
  if (backend === undefined) throw new Error('no backend')
  const crashes = () => server.log().split('all server processes terminated; reinitializing').length
  const before = crashes()
  process.kill(backend.id, 'SIGKILL')
  await until(() => crashes() > before)
  await sql.close({ timeout: 0 }).catch(() => {})
}

async function canConnect(url: string): Promise<boolean> {
  try {
    await snapshotOf(url)
    return true
  } catch {
    return false
  }
}

async function snapshotOf(url: string): Promise<string> {
  await using sql = connected(url)
  const [row] = await sql<{ snapshot: string }[]>`SELECT pg_current_snapshot()::text AS snapshot`
  return row?.snapshot ?? ''
}

/** The prices of a product that the standby itself shows, from a crash until it shows the latest. */
async function pricesUntilCaughtUp(url: string, id: number): Promise<number[]> {
  const prices: number[] = []
  await until(async () => {
    try {
      await using sql = connected(url)
      while (prices.at(-1) !== 2) {
        const [row] = await sql<{ price: number }[]>`SELECT price FROM products WHERE id = ${id}`
        prices.push(row?.price ?? Number.NaN)
      }
      return true
    } catch {
      return false
    }
  })
  return prices
}

/** Resolves when a read of the service was answered by the standby, since that has started. */
async function isReadFrom(standby: PostgresServer, api: Client, id: number): Promise<void> {
  await until(async () => {
    await api.get(`/products/${id}`)
    const connections = await standby.ask(
      sql => sql`SELECT FROM pg_stat_activity WHERE application_name = 'stockroom' AND query LIKE '%FROM products%'`,
    )
    return connections.length > 0
  })
}
