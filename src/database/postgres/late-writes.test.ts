import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { client } from '../../../test/harness/client.ts'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { openTcpProxy } from '../../../test/harness/tcp-proxy.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** With more, each new one would make the service read the clock again. */
const ONE_CONNECTION = { DATABASE_CONNECTIONS: '1' }

const open = new AsyncDisposableStack()
let server: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
})
afterAll(() => open.disposeAsync())

test('a write that the network holds back until its client was told 503 is not done later', async () => {
  await using database = await createDatabase(server.url())
  await using sql = connected(database.url)
  await makeClock(sql, database)
  await sql`UPDATE clock SET ahead = '1 hour'`
  await using proxy = await openTcpProxy(server.port)
  await using service = await startService(proxy.url(database.name), { flags: FLAGS })
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  // As if another server had taken its place, whose clock is an hour behind.
  await sql`UPDATE clock SET ahead = '0'`
  proxy.cut()
  await until(async () => (await api.get('/readyz')).status === 200)
  const rename = (name: string) => api.put(`/products/${id}`, { ...sample.product, name })
  // Until each connection has prepared the statements: before that, the first packet alone does nothing.
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 16 }, () => rename('In time')))
    await Promise.all(Array.from({ length: 16 }, () => api.create('/products/', sample.product)))
  }
  const before = await api.get('/products/')
  const release = proxy.holdBack()
  const answers = await Promise.all([rename('Too late'), api.post('/products/', sample.product)])
  expect(answers.map(({ status }) => status)).toEqual([503, 503])
  const held = await backends(sql)
  expect(held.length).toBeGreaterThan(0)
  release()
  // Their connections were closed, so they end when they have done what they received.
  await until(async () => !(await backends(sql)).some(one => held.includes(one)))
  await until(async () => (await api.get('/readyz')).status === 200)
  expect((await api.get('/products/')).body).toEqual(before.body)
})

test("a step of the server's clock refuses no write", async () => {
  await using database = await createDatabase(server.url())
  await using sql = connected(database.url)
  await makeClock(sql, database)
  await using service = await startService(database.url, { flags: FLAGS, environment: ONE_CONNECTION })
  const api = client(() => service.address)
  const id = await api.create('/products/', sample.product)
  for (const ahead of ['1 hour', '-1 hour', '1 minute']) {
    await sql`UPDATE clock SET ahead = ${ahead}::interval`
    expect((await api.put(`/products/${id}`, { ...sample.product, name: ahead })).status, ahead).toBe(200)
    expect((await api.post('/products/', sample.product)).status, ahead).toBe(200)
  }
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ name: '1 minute' })
})

/** Makes services of a database see a clock that tests can set. */
async function makeClock(sql: ReturnType<typeof connected>, { name }: TestDatabase): Promise<void> {
  await sql.unsafe(`
    CREATE TABLE clock AS SELECT interval '0' AS ahead;
    CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql
      AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM public.clock';
    ALTER DATABASE ${name} SET search_path = public, pg_catalog`)
}

/** The server's processes for connections of services. */
async function backends(sql: ReturnType<typeof connected>): Promise<number[]> {
  const found = await sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stockroom'`
  return found.map(({ pid }) => pid)
}
