import { SQL } from 'bun'

// Bun lets some variables of libpq, such as PGDATABASE, win over an address.
for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name]

/** The variable in which `npm test` passes the address of its shared server. */
export const SHARED_SERVER_VARIABLE = 'STOCKROOM_TEST_POSTGRES'

/** A connection to the shared server, which no test stops. It stays open: to open two for each database costs as much as the database. */
let toSharedServer: SQL | null = null

export interface TestDatabase extends AsyncDisposable {
  readonly name: string
  readonly url: string
}

/** Creates an empty database on the same server. Disposing of it drops it, even if it is still in use. */
export async function createDatabase(serverUrl: string): Promise<TestDatabase> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await using opened = administrator(serverUrl)
  const { sql } = opened
  const [{ fsync, version }] = await sql`
    SELECT current_setting('fsync') AS fsync, current_setting('server_version_num')::int AS version`
  // Files are copied faster than they are written to the log, unless each has to reach the disk. Version 14 always copies them.
  const strategy = version < 150_000 ? '' : `STRATEGY ${fsync === 'off' ? 'file_copy' : 'wal_log'}`
  // Nobody connects to this template: a database in use cannot be copied.
  await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0 ${strategy}`)
  const url = new URL(serverUrl)
  url.pathname = name
  return {
    name,
    url: url.href,
    [Symbol.asyncDispose]: async () => {
      await using opened = administrator(serverUrl)
      await opened.sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
}

/** One connection, to inspect or change a database beside the service. */
export function connected(url: string): SQL {
  return new SQL(url, { max: 1, connection: { application_name: 'test' } })
}

function administrator(serverUrl: string): AsyncDisposable & { readonly sql: SQL } {
  if (serverUrl === process.env[SHARED_SERVER_VARIABLE]) {
    toSharedServer ??= connected(serverUrl)
    return { sql: toSharedServer, [Symbol.asyncDispose]: async () => {} }
  }
  const sql = connected(serverUrl)
  return { sql, [Symbol.asyncDispose]: () => sql.close() }
}
