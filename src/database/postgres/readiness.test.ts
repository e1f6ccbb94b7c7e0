import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Client, client } from '../../../test/harness/client.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startServer, startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

test('on a read-only PostgreSQL, the catalog and the chat are not ready until it accepts writes', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', database.url, ...FLAGS]
  await using chatServer = await startServer(['chat', ...place])
  const api = client(() => service.address)
  const chat = client(() => chatServer.address)
  await expectReady(api)
  await expectReady(chat)
  await setReadOnly(database.url, 'on')
  await until(async () => (await api.get('/readyz')).status === 503)
  await until(async () => (await chat.get('/readyz')).status === 503)
  expect((await api.get('/products/')).status).toBe(200)
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  await setReadOnly(database.url, 'off')
  await until(async () => (await api.get('/readyz')).status === 200)
  await until(async () => (await chat.get('/readyz')).status === 200)
  expect((await api.post('/products/', sample.product)).status).toBe(200)
})

test('while the disk has no space for another page, a PostgreSQL is not ready, though rows of some tables still fit', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using sql = connected(database.url)
  await sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
    CREATE FUNCTION refuse_table() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON products FOR EACH ROW EXECUTE FUNCTION refuse();
    CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE TABLE AS') EXECUTE FUNCTION refuse_table()`)
  await expectReady(api)
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  expect((await api.get('/readyz')).status).toBe(503)
  await sql.unsafe('DROP EVENT TRIGGER full_disk; DROP TRIGGER full_disk ON products')
  expect((await api.post('/products/', sample.product)).status).toBe(200)
  await until(async () => (await api.get('/readyz')).status === 200)
})

test('a PostgreSQL whose disk was full is ready again although its user may make no temporary tables', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using sql = connected(database.url)
  const user = `user_${database.name}`
  await sql.unsafe(`
    CREATE ROLE ${user} LOGIN PASSWORD 'secret';
    REVOKE TEMP ON DATABASE ${database.name} FROM PUBLIC;
    CREATE SCHEMA AUTHORIZATION ${user}`)
  await using stack = new AsyncDisposableStack()
  stack.defer(() => sql.unsafe(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`))
  const url = new URL(database.url)
  url.username = user
  url.password = 'secret'
  const service = stack.use(await startService(url.href, { flags: FLAGS }))
  const api = client(() => service.address)
  await sql.unsafe(`
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON ${user}.products FOR EACH ROW EXECUTE FUNCTION refuse()`)
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  await sql.unsafe(`DROP TRIGGER full_disk ON ${user}.products`)
  await expectReady(api)
})

/** Sets it for new connections and closes the old ones. */
async function setReadOnly(url: string, value: 'on' | 'off'): Promise<void> {
  await using database = connected(url)
  await database.unsafe('SET default_transaction_read_only = off')
  const name = new URL(url).pathname.slice(1)
  await database.unsafe(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${value}`)
  await database.unsafe(`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`)
}

async function expectReady(api: Client): Promise<void> {
  const { status, body } = await api.get('/readyz')
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ready' } })
}
