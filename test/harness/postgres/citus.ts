import type { SQL } from 'bun'
import { catalogMigrations } from '../../../src/catalog/migrations/index.ts'
import { openTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import { connected, type TestDatabase } from './database.ts'
import { openedDatabase } from './opened.ts'

/** The address of a database on the coordinator of a Citus cluster, whose workers it knows. Without it, nothing is tested on Citus. */
const CITUS_VARIABLE = 'STOCKROOM_TEST_CITUS'

/** Few, because each is asked for lists. */
const SHARDS = 4

interface Server {
  readonly host: string
  readonly port: number
}

/** The address of the cluster's coordinator; `null` if there is none to test with. */
export function citusUrl(): string | null {
  return process.env[CITUS_VARIABLE] || null
}

interface CitusDatabase extends TestDatabase {
  /** The workers' proxies, if it was asked for any. */
  readonly proxies: readonly TcpProxy[]
}

/**
 * Creates a database on each server of the cluster, with distributed tables, or without any. Servers may reach workers through
 * proxies only. Disposing of it drops all of them.
 */
export async function createCitusDatabase(
  coordinatorUrl: string,
  {
    isDistributed = true,
    throughProxies = false,
  }: { readonly isDistributed?: boolean; readonly throughProxies?: boolean } = {},
): Promise<CitusDatabase> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  const url = at(coordinatorUrl, null, name)
  const { hostname, port } = new URL(url)
  const coordinator = { host: hostname, port: Number(port) }
  const workers = await onServer(
    coordinatorUrl,
    sql =>
      sql<Server[]>`SELECT nodename AS host, nodeport AS port FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeport`,
  )
  const servers = [...workers, coordinator]
  for (const server of servers) {
    await onServer(at(coordinatorUrl, server, 'postgres'), sql =>
      sql.unsafe(`CREATE DATABASE ${name} TEMPLATE template0`),
    )
    await onServer(at(coordinatorUrl, server, name), sql => sql.unsafe('CREATE EXTENSION citus'))
  }
  const proxies = throughProxies ? await Promise.all(workers.map(({ port }) => openTcpProxy(port))) : []
  // A worker gets the roles of its coordinator, and they are those of all databases: two at once would fail.
  await onServer(coordinatorUrl, async turn => {
    await turn`SELECT pg_advisory_lock(hashtext('citus_add_node'))`
    await onServer(url, async sql => {
      await sql.unsafe(`ALTER DATABASE ${name} SET citus.shard_count = ${SHARDS}`)
      await sql`SELECT citus_set_coordinator_host(${coordinator.host}, ${coordinator.port})`
      for (const [place, { host, port }] of workers.entries()) {
        await sql`SELECT citus_add_node(${host}, ${proxies[place]?.port ?? port})`
      }
    })
  })
  if (isDistributed) await distribute(url)
  return {
    name,
    url,
    proxies,
    [Symbol.asyncDispose]: async () => {
      for (const proxy of proxies) await proxy[Symbol.asyncDispose]()
      for (const server of servers.toReversed()) {
        await onServer(at(coordinatorUrl, server, 'postgres'), sql =>
          sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
        )
      }
    },
  }
}

/** Creates the tables and distributes them. */
async function distribute(url: string): Promise<void> {
  await using _ = await openedDatabase(url, { migrations: [catalogMigrations], shallDistribute: true })
}

/** The same address with another server or database. */
function at(url: string, server: Server | null, database: string): string {
  const other = new URL(url)
  if (server) {
    other.hostname = server.host
    other.port = String(server.port)
  }
  other.pathname = database
  return other.href
}

async function onServer<Result>(url: string, work: (sql: SQL) => Promise<Result>): Promise<Result> {
  await using sql = connected(url)
  return await work(sql)
}
