import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { PostgresServer } from '../../../test/harness/postgres/server.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { type Run, run } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'
import { errorMessage } from '../../program/error-message.ts'

setDefaultTimeout(120_000)

const open = new AsyncDisposableStack()
let server: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
})
afterAll(() => open.disposeAsync())

test('an engine that only resembles PostgreSQL is refused in one line, and stays as it was', async () => {
  await using database = await createDatabase(server.url())
  const tell = await telling(database)
  for (const version of [
    'PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu, compiled by clang version 16.0.6, 64-bit',
    'PostgreSQL 15.2 on x86_64-pc-linux-gnu-YB-2.25.0.0-b0, compiled by clang version 17.0.6, 64-bit',
    'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.117891',
    'PostgreSQL 13.14.0-RisingWave-2.3.0 (6b9e0e5)',
    'PostgreSQL 12.3, compiled by Visual C++ build 1914, 64-bit, QuestDB',
    'CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu, built 2025/06/11 19:36:13, go1.23.7)',
  ]) {
    await tell(version)
    const refusal = await connectTo(database).catch(errorMessage)
    expect(refusal).toEndWith(`is not PostgreSQL but ${version}; use PostgreSQL or Citus`)
  }
  const refused = await start(database.url)
  expectRefusal(refused, { status: 1, reason: / is not PostgreSQL but CockroachDB .+; use PostgreSQL or Citus$/m })
  expect(refused.errors).toStartWith(`stockroom: the database 127.0.0.1:${server.port}/${database.name} is not`)
  expect(await tablesOf(database)).toEqual([])
})

test('a server that is too old is refused by its version, also if it does not know our settings', async () => {
  await using database = await createDatabase(server.url())
  const tell = await telling(database)
  await using old = await withoutIdleTimeout(server.port)
  const url = new URL(database.url)
  url.port = String(old.port)
  for (const version of ['13.22', '13.22 (Debian 13.22-0+deb11u1)', '10.23', '9.6.24']) {
    const told = `PostgreSQL ${version} on x86_64-pc-linux-gnu, compiled by gcc (Debian 10.2.1-6) 10.2.1, 64-bit`
    await tell(told)
    for (const address of [database.url, url.href]) {
      const refusal = await connectTo({ ...database, url: address }).catch(errorMessage)
      expect(refusal).toEndWith(`/${database.name} is too old: ${told}; use PostgreSQL 14 or later`)
    }
  }
  expectRefusal(await start(url.href), { status: 1, reason: / is too old: PostgreSQL 9\.6\.24 on .+ 14 or later$/m })
  expect(await tablesOf(database)).toEqual([])
})

test('PostgreSQL is known by its version, whoever has built it, and before its release, too', async () => {
  await using database = await createDatabase(server.url())
  const tell = await telling(database)
  for (const version of ['14.0', '18.1', '18.1 (Debian 18.1-1.pgdg13+2)', '19beta2', '19rc1', '20devel']) {
    await tell(`PostgreSQL ${version} on x86_64-pc-linux-gnu, compiled by gcc (Debian 14.2.0-19) 14.2.0, 64-bit`)
    await connectTo(database)
  }
  await tell('PostgreSQL 16.4, compiled by Visual C++ build 1940, 64-bit')
  await connectTo(database)
})

test('a user who owns nothing but a schema can start; without a permission, the start names what is not permitted, and the remedy', async () => {
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
  for (const [taken, given, denied] of [
    ['CREATE ON SCHEMA clerk', 'clerk', 'schema clerk'],
    ['USAGE ON LANGUAGE plpgsql', 'PUBLIC', 'language plpgsql'],
  ] as const) {
    await change(database, `REVOKE ${taken} FROM ${given}`)
    const remedy = 'grant it to the user, or let the user own the database'
    const reason = new RegExp(`cannot be used: permission denied for ${denied}; ${remedy}$`, 'm')
    expectRefusal(await start(url.href), { status: 1, reason })
    await change(database, `GRANT ${taken} TO ${given}`)
  }
  expect(await start(url.href)).toMatchObject({ status: 0 })
  expect(await tablesOf(database)).toContain('clerk.products')
})

test('a start that fails leaves no connection behind', async () => {
  await using database = await createDatabase(server.url())
  const fake = await faking(database)
  await fake(`pg_postmaster_start_time() RETURNS timestamptz LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'too many clients' USING ERRCODE = 'too_many_connections';
    END $$`)
  expect(await connectTo(database).catch(errorMessage)).toEndWith('too many clients')
  const connections = () =>
    server.ask(sql => sql`SELECT FROM pg_stat_activity WHERE datname = ${database.name} AND application_name <> 'test'`)
  await until(async () => (await connections()).length === 0)
})

/** Runs a command that creates the tables of the catalog. */
function start(url: string): Promise<Run> {
  return run(['seed', '--database', url, '--products', '1'])
}

async function connectTo({ url }: TestDatabase): Promise<void> {
  await using _ = await openedDatabase(url)
}

/** Lets a database tell another version of its engine. */
async function telling(database: TestDatabase) {
  const fake = await faking(database)
  return (version: string) => fake(`version() RETURNS text LANGUAGE sql AS $$ SELECT '${version}'::text $$`)
}

/** A proxy of a server, which does not know a setting of new connections: as one before version 14 does. */
async function withoutIdleTimeout(port: number): Promise<AsyncDisposable & { readonly port: number }> {
  const proxy = Bun.listen<Socket>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: client => {
        client.data = connect(port, '127.0.0.1')
        client.data.on('data', bytes => client.write(bytes)).on('close', () => client.end())
      },
      data: ({ data: server }, bytes) => {
        const known = bytes.toString('latin1')
        server.write(Buffer.from(known.replace('idle_session_timeout', 'no_session_timeout__'), 'latin1'))
      },
      close: ({ data: server }) => {
        server.destroy()
      },
    },
  })
  return { port: proxy.port, [Symbol.asyncDispose]: async () => proxy.stop(true) }
}

/** Lets a database have other functions in place of the engine's. */
async function faking(database: TestDatabase) {
  await change(
    database,
    `CREATE SCHEMA fakes; ALTER DATABASE ${database.name} SET search_path = fakes, pg_catalog, public`,
  )
  // The first schema of the path would be the one of new tables.
  await change(database, 'REVOKE CREATE ON SCHEMA fakes FROM PUBLIC')
  return (definition: string) => change(database, `CREATE OR REPLACE FUNCTION fakes.${definition}`)
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
