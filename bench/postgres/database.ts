import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connected } from '../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../test/harness/postgres/server.ts'
import type { SeededDatabase } from '../catalog/bench.ts'
import type { Filled } from '../catalog/seeded-database.ts'
import { processorSecondsOfFamily } from '../server-process.ts'

/** In addition to PostgreSQL's defaults, which make each commit durable before it is acknowledged. */
const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  // Holds all of the data.
  shared_buffers: '512MB',
  // Checkpoints and autovacuum would disturb some measurements and not others. Each copy is vacuumed and analyzed already.
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
}

/** A PostgreSQL server for the databases of a bench. Disposing stops it and deletes its data. */
export interface DatabaseServer extends AsyncDisposable {
  readonly version: string
  /** The folder of its data. */
  readonly directory: string
  readonly filled: Filled
}

export async function startDatabase(directory: string | undefined): Promise<DatabaseServer> {
  const server = await PostgresServer.start({
    durable: true,
    settings: SETTINGS,
    ...(directory === undefined ? {} : { directory }),
  })
  const [about] = await server.ask<{ version: string }>(sql => sql`SELECT current_setting('server_version') AS version`)
  return {
    version: about?.version ?? 'unknown',
    directory: server.folder,
    filled: (name, fill) => filledOn(server, name, fill),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function filledOn(
  server: PostgresServer,
  template: string,
  fill: (address: string) => Promise<void>,
): Promise<SeededDatabase> {
  await execute(server.url(), `CREATE DATABASE ${template}`)
  await fill(server.url(template))
  await execute(server.url(template), 'VACUUM (FREEZE, ANALYZE)')
  const processId = Number(readFileSync(join(server.data, 'postmaster.pid'), 'utf8').split('\n')[0])
  let copies = 0
  return {
    copy: async () => {
      copies += 1
      const name = `${template}_${copies}`
      await execute(server.url(), `CREATE DATABASE ${name} TEMPLATE ${template}`)
      return {
        address: server.url(name),
        count: table => countRows(server.url(name), table),
        processorSeconds: () => processorSecondsOfFamily(processId),
        [Symbol.asyncDispose]: () => execute(server.url(), `DROP DATABASE ${name} WITH (FORCE)`),
      }
    },
  }
}

async function execute(url: string, statement: string): Promise<void> {
  await using sql = connected(url)
  await sql.unsafe(statement)
}

async function countRows(url: string, table: 'products' | 'reviews'): Promise<number> {
  await using sql = connected(url)
  const [counted]: { rows: number }[] = await sql`SELECT count(*)::float8 AS rows FROM ${sql(table)}`
  return counted?.rows ?? 0
}
