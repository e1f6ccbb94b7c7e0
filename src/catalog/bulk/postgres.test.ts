import { expect, setDefaultTimeout, test } from 'bun:test'
import type { SQL } from 'bun'
import { type Client, client } from '../../../test/harness/client.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService, WITH_FAST_CLOCK } from '../../../test/harness/service.ts'
import { openTcpProxy } from '../../../test/harness/tcp-proxy.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** More than a connection takes while nobody reads from it, and as much as a body may have. */
const LONG_LINES = 8
const LONG_LINE = { ...sample.product, description: 'x'.repeat(1_000_000) }

test('a process that pauses while it stores posted NDJSON does not stop the creates of other nodes', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using sql = connected(database.url)
  // Connections of a service that knows of a pooler leave the limits to the server.
  await sql.unsafe(`ALTER DATABASE ${database.name} SET idle_in_transaction_session_timeout = '300ms'`)
  const environment = { DATABASE_POOLER: 'transaction' }
  await using pausing = await startService(database.url, { flags: FLAGS, environment })
  await using other = await startService(database.url, { flags: FLAGS })
  await sql.unsafe(`
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END';
    CREATE TRIGGER waiting BEFORE INSERT ON products FOR EACH ROW EXECUTE FUNCTION wait()`)
  await sql`SELECT pg_advisory_lock(1)`
  const [api, others] = [client(() => pausing.address), client(() => other.address)]
  const answer = post(api, Array(LONG_LINES).fill(LONG_LINE))
  await until(() => isWaiting(sql))
  process.kill(pausing.processId, 'SIGSTOP')
  try {
    await sql`SELECT pg_advisory_unlock(1)`
    await until(async () => (await others.post('/products/', sample.product)).status === 200)
  } finally {
    process.kill(pausing.processId, 'SIGCONT')
  }
  expect((await answer).status).toBe(503)
  expect(await post(api, [sample.product])).toMatchObject({ status: 200, body: { created: 1 } })
  expect((await others.get('/products/')).body).toHaveLength(2)
})

test('posted NDJSON is answered although its connection to the database falls silent', async () => {
  const url = await sharedServerUrl()
  await using database = await createDatabase(url)
  await using proxy = await openTcpProxy(Number(new URL(url).port))
  await using service = await startService(proxy.url(database.name), { flags: FLAGS, program: WITH_FAST_CLOCK })
  await using sql = connected(database.url)
  await using holder = connected(database.url)
  await holder`BEGIN`
  await holder`SELECT collection FROM creation_locks FOR UPDATE`
  const answer = post(
    client(() => service.address),
    [sample.product],
  )
  await until(() => isWaiting(sql))
  proxy.freeze()
  await holder`ROLLBACK`
  expect((await answer).status).toBe(503)
})

test('any number of NDJSON bodies that are posted at once take one connection', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using sql = connected(database.url)
  await using holder = connected(database.url)
  await holder`BEGIN`
  await holder`SELECT collection FROM creation_locks FOR UPDATE`
  const answers = Array.from({ length: 20 }, () => post(api, [sample.product]))
  await until(() => isWaiting(sql))
  // Sent later than all of them.
  await api.get('/products/')
  const connections = await sql`
    SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stockroom'`
  await holder`ROLLBACK`
  expect(connections.length).toBeLessThanOrEqual(9)
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
})

test('posted NDJSON that refers to a locked row stops other creates for a moment only', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const [product, user] = [await api.create('/products/', sample.product), await api.create('/users/', sample.user)]
  await using sql = connected(database.url)
  await using locking = connected(database.url)
  await locking`BEGIN`
  await locking`SELECT FROM products WHERE id = ${product} FOR UPDATE`
  const answer = post(api, [sample.review(product, user)], '/reviews/')
  await until(() => isWaiting(sql))
  expect((await api.post('/products/', sample.product)).status).toBe(200)
  expect((await answer).status).toBe(503)
  await locking`ROLLBACK`
})

function post(api: Client, lines: readonly unknown[], path = '/products/') {
  const body = lines.map(line => JSON.stringify(line)).join('\n')
  return api.send(path, { method: 'POST', body, headers: { 'Content-Type': 'application/x-ndjson' } })
}

/** Whether a statement in the same database waits for a lock. */
async function isWaiting(sql: SQL): Promise<boolean> {
  const waiting =
    await sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  return waiting.length > 0
}
