import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../program/error-message.ts'
import type { Pool } from './pool.ts'

const log = getLogger(['stockroom', 'database'])

/** The settings of each server, as numbers. Those of workers are what a connection of this user gets. */
const SETTINGS = `
  SELECT json_object_agg(name, setting::float8)::text FROM pg_settings WHERE name IN (
    'citus.recover_2pc_interval', 'citus.node_connection_timeout', 'citus.max_adaptive_executor_pool_size',
    'max_connections', 'max_prepared_transactions', 'lock_timeout'
  )`

/** A worker that is down is left out. */
const WORKERS = `
  SELECT nodename || ':' || nodeport AS server, result AS settings
  FROM run_command_on_workers($$ ${SETTINGS} $$) WHERE success ORDER BY nodename, nodeport`

const SHARDS = `
  SELECT min(logicalrelid::text) AS table, max(shardcount)::float8 AS shards,
    (SELECT count(*) FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary')::float8 AS servers
  FROM pg_dist_partition JOIN pg_dist_colocation USING (colocationid) WHERE partmethod = 'h'`

/** Shards for each server that has some. Fewer cannot be spread evenly; all of them are asked for a list. */
const SHARDS_EACH = { least: 2, good: 4, most: 8 }

type Settings = Readonly<Record<string, number>>

/** The values of a setting that are as advised, and the command that sets one of them. */
interface Advice {
  readonly setting: string
  readonly least: number
  readonly most: number
  readonly command: string
}

/** Logs a warning for each setting of Citus that is not as advised, with the command that sets it. */
export async function warnOfCitusSettings(pool: Pool, connections: number): Promise<void> {
  try {
    const [own] = await pool.query<{ settings: string; role: string }>(
      `SELECT (${SETTINGS}) AS settings, quote_ident(current_user) AS role`,
    )
    const coordinator = parsed(own?.settings)
    warn('the coordinator', coordinator, forCoordinator(connections))
    const workers = await pool.query<{ server: string; settings: string }>(WORKERS)
    const advice = forWorkers(coordinator.max_connections ?? 0, own?.role ?? '')
    for (const { server, settings } of workers) warn(server, parsed(settings), advice)
    const [spread] = await pool.query<{ table: string; shards: number; servers: number }>(SHARDS)
    if (spread) warn(`the tables on ${spread.servers} servers`, { shards: spread.shards }, forShards(spread))
  } catch (error) {
    log.info('the settings of Citus were not checked: {reason}', { reason: errorMessage(error) })
  }
}

function parsed(settings = '{}'): Settings {
  return JSON.parse(settings)
}

function warn(server: string, settings: Settings, advice: readonly Advice[]): void {
  for (const { setting, least, most, command } of advice) {
    const value = settings[setting]
    if (value === undefined || (value >= least && value <= most)) continue
    log.warning('{setting} of {server} is {value}; set it: {command}', { setting, server, value, command })
  }
}

function forCoordinator(connections: number): Advice[] {
  const upTo = (setting: string, most: number, value: string): Advice => ({
    setting,
    least: 1,
    most,
    command: `ALTER SYSTEM SET ${setting} = ${value}; SELECT pg_reload_conf()`,
  })
  // Those for reads and those for writes, and as many again while they are replaced.
  const needed = 4 * connections
  return [
    // Until then, rows are missing that were prepared on a worker when it died.
    upTo('citus.recover_2pc_interval', 1_000, "'1s'"),
    // A create that connects to a worker that hangs holds up all others.
    upTo('citus.node_connection_timeout', 1_000, "'1s'"),
    // Otherwise a list that takes long opens a connection to each worker for each shard.
    upTo('citus.max_adaptive_executor_pool_size', 2, '2'),
    atLeast('max_connections', needed),
  ]
}

function forWorkers(connections: number, role: string): Advice[] {
  return [
    // Each connection to the coordinator has one to each worker, and may have a transaction prepared there.
    atLeast('max_connections', connections),
    atLeast('max_prepared_transactions', connections),
    // The one of a session does not reach the workers.
    { setting: 'lock_timeout', least: 1, most: 1_000, command: `ALTER ROLE ${role} SET lock_timeout = '1s'` },
  ]
}

function atLeast(setting: string, least: number): Advice {
  const command = `ALTER SYSTEM SET ${setting} = ${least}, and restart it`
  return { setting, least, most: Number.POSITIVE_INFINITY, command }
}

function forShards({ table, servers }: { readonly table: string; readonly servers: number }): Advice[] {
  const { least, good, most } = SHARDS_EACH
  const count = `shard_count := ${good * servers}, cascade_to_colocated := true`
  const command = `SELECT alter_distributed_table('${table}', ${count}) while nobody writes`
  return [{ setting: 'shards', least: least * servers, most: most * servers, command }]
}
