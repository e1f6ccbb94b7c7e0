import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { openTcpProxy } from '../../../test/harness/postgres/tcp-proxy.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { type Run, run } from '../../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** Makes the foreign keys of new tables disappear. */
const IGNORE_FOREIGN_KEYS = `
  CREATE SCHEMA fakes;
  CREATE FUNCTION fakes.ignore_foreign_keys() RETURNS event_trigger LANGUAGE plpgsql AS $$
  DECLARE found record;
  BEGIN
    FOR found IN SELECT conrelid::regclass AS owner, conname FROM pg_constraint WHERE contype = 'f' LOOP
      EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.owner, found.conname);
    END LOOP;
  END $$;
  CREATE EVENT TRIGGER ignoring ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION fakes.ignore_foreign_keys()`

/** Makes all sequences look as if each server took a hundred numbers at once. */
const CACHE_NUMBERS = `
  CREATE SCHEMA fakes;
  CREATE VIEW fakes.pg_sequence AS SELECT seqrelid, 100 AS seqcache FROM pg_catalog.pg_sequence`

/** Makes each call of a function that must exist fail. */
const REFUSE_ADVISORY_LOCKS = `
  CREATE SCHEMA fakes;
  CREATE FUNCTION fakes.pg_try_advisory_xact_lock(int) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN
    RAISE EXCEPTION 'advisory locks are not supported' USING ERRCODE = 'feature_not_supported';
  END $$`

const open = new AsyncDisposableStack()
let server: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
})
afterAll(() => open.disposeAsync())

test('an engine that does not know something that the SQL needs is refused in one line, and stays as it was', async () => {
  await using database = await createDatabase(server.url())
  await using proxy = await openTcpProxy(server.port)
  for (const [word, feature] of [
    ['REFERENCES', 'foreign keys'],
    ['IDENTITY', 'identity columns that number rows in order'],
    ['plpgsql', 'triggers in PL/pgSQL with transition tables'],
    ['REFERENCING', 'triggers in PL/pgSQL with transition tables'],
    ['tsvector', 'indexes for text search'],
    ['WITH made', 'WITH clauses that write'],
    ['ON CONFLICT', 'INSERT with ON CONFLICT'],
    ['ORDINALITY', 'json_to_recordset with ordinality'],
    ['LATERAL', 'LATERAL joins'],
    ['SKIP LOCKED', 'locks on rows'],
    ['pg_try_advisory_xact_lock', 'advisory locks of transactions'],
  ] as const) {
    proxy.spoil(word)
    expectRefused(await start(proxy.url(database.name)), `127.0.0.1:${proxy.port}/${database.name}`, feature)
  }
  expect(await tablesOf(database)).toEqual([])
})

test('an engine that accepts something and does not do it is refused', async () => {
  for (const [fake, feature] of [
    [IGNORE_FOREIGN_KEYS, 'foreign keys'],
    [CACHE_NUMBERS, 'identity columns that number rows in order'],
    [REFUSE_ADVISORY_LOCKS, 'advisory locks of transactions'],
  ] as const) {
    await using database = await createDatabase(server.url())
    await change(database, fake)
    await change(database, `ALTER DATABASE ${database.name} SET search_path = fakes, pg_catalog, public`)
    // The first schema of the path is the one of new tables.
    await change(database, 'REVOKE CREATE ON SCHEMA fakes FROM PUBLIC')
    expectRefused(await start(database.url), `127.0.0.1:${server.port}/${database.name}`, feature)
    expect(await tablesOf(database)).toEqual([])
  }
})

test('a user who owns nothing but a schema can start; without a permission, the start names what is not permitted', async () => {
  await using database = await createDatabase(server.url())
  await change(
    database,
    `CREATE ROLE clerk LOGIN PASSWORD 'clerk';
    REVOKE ALL ON DATABASE ${database.name} FROM PUBLIC;
    GRANT CONNECT ON DATABASE ${database.name} TO clerk;
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    CREATE SCHEMA clerk AUTHORIZATION clerk`,
  )
  const url = new URL(database.url)
  url.username = 'clerk'
  url.password = 'clerk'
  for (const [taken, given, reason] of [
    ['USAGE ON LANGUAGE plpgsql', 'PUBLIC', /cannot be used: permission denied for language plpgsql$/m],
    [
      'EXECUTE ON FUNCTION json_to_recordset',
      'PUBLIC',
      /cannot be used: permission denied for function json_to_recordset$/m,
    ],
  ] as const) {
    await change(database, `REVOKE ${taken} FROM ${given}`)
    expectRefusal(await start(url.href), { status: 1, reason })
    expect(await tablesOf(database)).toEqual([])
    await change(database, `GRANT ${taken} TO ${given}`)
  }
  expect(await start(url.href)).toMatchObject({ status: 0 })
  expect(await tablesOf(database)).toContain('clerk.products')
})

/** Runs a command that creates the tables of the catalog. */
function start(url: string): Promise<Run> {
  return run(['seed', '--database', url, '--products', '1'])
}

function expectRefused(refused: Run, place: string, feature: string): void {
  expectRefusal(refused, { status: 1, reason: /; use PostgreSQL or Citus$/m }, feature)
  expect(refused.errors).toStartWith(`stockroom: the database ${place} cannot run stockroom: it has no ${feature}`)
}

async function change(database: TestDatabase, sql: string): Promise<void> {
  await using own = connected(database.url)
  await own.unsafe(sql)
}

async function tablesOf(database: TestDatabase): Promise<string[]> {
  await using own = connected(database.url)
  const tables: { name: string }[] = await own`SELECT schemaname || '.' || tablename AS name FROM pg_catalog.pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`
  return tables.map(({ name }) => name)
}
