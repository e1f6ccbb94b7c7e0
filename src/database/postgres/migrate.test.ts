import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { client } from '../../../test/harness/client.ts'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'
import { errorMessage } from '../../program/error-message.ts'

setDefaultTimeout(120_000)

/** Opens a database with one migration, and closes it again. */
async function migrated(url: string, sql: string, part = 'shelves'): Promise<void> {
  const migrations = [{ part, sqlite: [], postgres: [{ name: `${part}_0001`, sql }], citus: [] }]
  await using _ = await openedDatabase(url, { migrations })
}

test('a migration may have comments, and semicolons in its texts and function bodies', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await migrated(
    database.url,
    `-- Shelves; and what's on them.
    CREATE TABLE shelves (name text DEFAULT 'left; right -- above');
    INSERT INTO shelves DEFAULT VALUES;
    DO $$ BEGIN INSERT INTO shelves VALUES ('one'); INSERT INTO shelves VALUES ('two'); END $$;`,
  )
  await using sql = connected(database.url)
  const names: { name: string }[] = await sql`SELECT name FROM shelves`
  expect(names.map(({ name }) => name)).toEqual(['left; right -- above', 'one', 'two'])
})

test('a migration that fails leaves nothing behind, and is applied once it has been corrected', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  const failing = migrated(database.url, 'CREATE TABLE shelves (name text); INSERT INTO boxes DEFAULT VALUES')
  expect(failing).rejects.toThrow(/boxes/)
  await failing.catch(() => {})
  await migrated(database.url, 'CREATE TABLE shelves (name text); INSERT INTO shelves DEFAULT VALUES')
  await using sql = connected(database.url)
  expect(await sql`SELECT name FROM migrations`).toHaveLength(1)
  expect(await sql`SELECT name FROM shelves`).toHaveLength(1)
})

test('a migration that cannot succeed is tried once, also if it creates something twice', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using sql = connected(database.url)
  await sql`CREATE SEQUENCE tries`
  const failures = [
    ['CREATE TABLE boxes (); CREATE TABLE boxes ()', /already exists/],
    ['CREATE TABLE boxes (id int PRIMARY KEY); INSERT INTO boxes VALUES (1), (1)', /duplicate key/],
    [
      'CREATE TABLE boxes (id int PRIMARY KEY, inner_id int REFERENCES boxes); INSERT INTO boxes VALUES (1, 2)',
      /foreign key/,
    ],
  ] as const
  for (const [place, [failing, reason]] of failures.entries()) {
    expect(await migrated(database.url, `SELECT nextval('tries'); ${failing}`).catch(errorMessage)).toMatch(reason)
    expect(await sql`SELECT last_value::int AS tries FROM tries`).toEqual([{ tries: place + 1 }])
  }
})

test('nodes migrate at once, each migration once, also if transactions are serializable by default', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using sql = connected(database.url)
  await sql.unsafe(`ALTER DATABASE ${database.name} SET default_transaction_isolation = 'serializable'`)
  await Promise.all(
    Array.from({ length: 8 }, () => migrated(database.url, 'CREATE TABLE shelves (); SELECT pg_sleep(0.1)')),
  )
  expect(await sql`SELECT name FROM migrations`).toHaveLength(1)
})

test('tables stay where they are if the search path begins with a newer schema, and further ones are created beside them', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  const { username } = new URL(database.url)
  await migrated(database.url, 'CREATE TABLE shelves ()')
  await using sql = connected(database.url)
  await sql.unsafe(`CREATE SCHEMA ${username}`)
  await migrated(database.url, 'CREATE TABLE shelves ()')
  await migrated(database.url, 'CREATE TABLE boxes ()', 'boxes')
  expect(
    await sql`SELECT schemaname AS schema, tablename AS name FROM pg_tables WHERE schemaname !~ '^(pg_|information)' ORDER BY 2`,
  ).toEqual(['boxes', 'migrations', 'shelves'].map(name => ({ schema: 'public', name })))
})

test('a table of another program that is called migrations, too, does not matter if it is in another schema', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  const { username } = new URL(database.url)
  await using sql = connected(database.url)
  await sql`CREATE TABLE migrations (id int, name text)`
  await sql.unsafe(`CREATE SCHEMA ${username}`)
  await migrated(database.url, 'CREATE TABLE shelves ()')
  await migrated(database.url, 'CREATE TABLE shelves ()')
  expect(await sql.unsafe(`SELECT name FROM ${username}.migrations`)).toHaveLength(1)
  expect(await sql`SELECT name FROM public.migrations`).toHaveLength(0)
})

test('a node that has nothing to migrate starts while another one migrates', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await migrated(database.url, 'CREATE TABLE shelves ()')
  await using sql = connected(database.url)
  await sql`CREATE TABLE boxes ()`
  await using other = connected(database.url)
  await other`BEGIN`
  await other`LOCK TABLE boxes`
  const migrating = migrated(database.url, 'ALTER TABLE boxes ADD name text', 'boxes')
  const isWaiting = async () => {
    const waiting = await sql`SELECT FROM pg_locks WHERE relation = 'boxes'::regclass AND NOT granted`
    return waiting.length > 0
  }
  await until(isWaiting)
  await migrated(database.url, 'CREATE TABLE shelves ()')
  await until(isWaiting)
  await other`COMMIT`
  await migrating
})

test('while a migration waits for a long transaction, such as that of pg_dump, nodes that run answer, and the start says so', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using node = await startService(database.url)
  const api = client(() => node.address)
  await api.create('/products/', sample.product)
  await using dump = connected(database.url)
  await dump`DELETE FROM migrations WHERE name = 'catalog_0007_facets'`
  await dump`BEGIN`
  await dump`SELECT FROM product_facts`
  using folder = temporaryFolder()
  const file = join(folder.path, 'errors')
  // So that they can be read before the end.
  const starting = startService(database.url, { through: ['bash', '-c', `exec "$@" 2> '${file}'`, 'bash'] })
  const line = 'cannot be migrated while a transaction uses the tables to change; waiting for its end'
  await until(() => existsSync(file) && readFileSync(file, 'utf8').includes(line))
  await using sql = connected(database.url)
  await until(async () => {
    const waiting = await sql`SELECT FROM pg_locks WHERE relation = 'product_facts'::regclass AND NOT granted`
    return waiting.length > 0
  })
  expect(await api.get('/products/?max_price=100')).toMatchObject({ status: 200, body: [{ id: 1 }] })
  await dump`COMMIT`
  await using _ = await starting
  expect(await sql`SELECT FROM migrations WHERE name = 'catalog_0007_facets'`).toHaveLength(1)
})

test('a start and a command that wait for the migration of another node say so', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using other = connected(database.url)
  await other`SELECT pg_advisory_lock(4718392)`
  using folder = temporaryFolder()
  const files = ['service', 'command'].map(name => join(folder.path, name))
  // So that they can be read before the end.
  const [service, command] = files.map(file => ({ through: ['bash', '-c', `exec "$@" 2> '${file}'`, 'bash'] }))
  const starting = startService(database.url, service)
  const seeding = run(['seed', '--database', database.url, '--products', '1'], command)
  const name = new URL(database.url).host + new URL(database.url).pathname
  const line = `${name} is being migrated by the session that holds the advisory lock 4718392; waiting for it`
  for (const file of files) await until(() => existsSync(file) && readFileSync(file, 'utf8').includes(line))
  await other`SELECT pg_advisory_unlock(4718392)`
  await using _ = await starting
  expect(await seeding).toMatchObject({ status: 0 })
  for (const file of files) expect(readFileSync(file, 'utf8').split(line)).toHaveLength(2)
})

test('behind a pooler, migrations, their waits for each other and bulk work may last longer than the limits of the user', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using sql = connected(database.url)
  for (const limit of ['statement_timeout', 'lock_timeout'])
    await sql.unsafe(`ALTER DATABASE ${database.name} SET ${limit} = '1s'`)
  // PostgreSQL before version 17 has no such limit.
  await sql
    .unsafe(`ALTER DATABASE ${database.name} SET transaction_timeout = '1s'`)
    .catch(error => expect(String(error)).toContain('unrecognized configuration parameter'))
  const pause = 'SELECT pg_sleep(1.2)::text'
  const shelves = { name: 'shelves_0001', sql: `CREATE TABLE shelves (); ${pause}` }
  const migrations = [{ part: 'shelves', sqlite: [], postgres: [shelves], citus: [] }]
  const work = async () => {
    await using node = await openedDatabase(database.url, { migrations, isPooled: true })
    await node.bulk(query => query(pause))
  }
  await Promise.all([work(), work()])
})
