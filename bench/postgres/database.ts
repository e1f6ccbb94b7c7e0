import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connected } from '../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../test/harness/postgres/server.ts'
import type { SeededDatabase } from '../catalog/bench.ts'
import { seed } from '../catalog/seed.ts'
import { processorSecondsOfFamily } from '../server-process.ts'
import type { Version } from '../stockroom.ts'

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
  /** Makes a database that this version of Stockroom has seeded. */
  readonly seeded: (version: Version, interrupted: AbortSignal) => Promise<SeededDatabase>
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
    seeded: (version, interrupted) => seededOn(server, version, interrupted),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function seededOn(server: PostgresServer, version: Version, interrupted: AbortSignal): Promise<SeededDatabase> {
  const template = `seeded_${version.name}`
  await execute(server.url(), `CREATE DATABASE ${template}`)
  await seed(version, server.url(template), interrupted)
  await execute(server.url(template), 'VACUUM (FREEZE, ANALYZE)')
  const productIds = await ids(server.url(template))
  const processId = Number(readFileSync(join(server.data, 'postmaster.pid'), 'utf8').split('\n')[0])
  let copies = 0
  return {
    productIds,
    copy: async () => {
      copies += 1
      const name = `${template}_${copies}`
      await execute(server.url(), `CREATE DATABASE ${name} TEMPLATE ${template}`)
      return {
        address: server.url(name),
        countProducts: async () => (await ids(server.url(name))).length,
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

async function ids(url: string): Promise<number[]> {
  await using sql = connected(url)
  const rows: { id: number }[] = await sql`SELECT id::float8 AS id FROM products ORDER BY id`
  return rows.map(row => row.id)
}
