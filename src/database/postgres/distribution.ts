import { errorMessage } from '../../program/error-message.ts'
import { OperatorError } from '../../program/operator-error.ts'
import type { Migrations } from '../migrations.ts'
import type { PostgresAddress } from './address.ts'
import { lockTables } from './bulk.ts'
import { clusterOf } from './citus-cluster.ts'
import { PostgresDatabase } from './database.ts'
import { BESIDE_OTHERS, commandsOf, record } from './migrate.ts'
import type { Query } from './pool.ts'

/** The name of the connections, so that they are told apart from those of servers. */
const APPLICATION = 'stockroom distribute'

/** Rows that are distributed to measure how long it takes. */
const TRIAL_ROWS = 20_000

const DISTRIBUTE = /^SELECT create_(reference|distributed)_table\('(\w+)'/

/** Other sessions of the same user, or of servers. Citus' own come and go. */
const OTHER_SESSIONS = `
  SELECT coalesce(string_agg(DISTINCT coalesce(nullif(application_name, ''), 'without a name'), ', '), '') AS names, count(*)::float8 AS number
  FROM pg_stat_activity
  WHERE datname = current_database() AND (usename = current_user OR application_name = 'stockroom')
    AND application_name <> '${APPLICATION}' AND application_name NOT LIKE 'citus%' AND application_name NOT LIKE 'Citus%'`

/** A table that is distributed. */
interface DistributedTable {
  readonly name: string
  /** Whether each server has all of its rows. */
  readonly isWhole: boolean
  readonly rows: number
  readonly bytes: number
}

/** The work ahead, and about how long it takes. */
export interface DistributionPlan {
  readonly tables: readonly DistributedTable[]
  readonly servers: number
  readonly shards: number
  readonly seconds: number
}

interface Told {
  /** Called before anything is changed. */
  readonly begins: (plan: DistributionPlan) => void
  readonly isDoing: (table: DistributedTable, isDone: boolean) => void
}

/**
 * Distributes the tables of an existing database over the servers of Citus, in one transaction. Rejects with an
 * `OperatorError`, and then nothing has changed.
 */
export async function distributeTables(
  address: PostgresAddress,
  parts: readonly Migrations[],
  { begins, isDoing }: Told,
): Promise<DistributionPlan> {
  const { place } = address
  await using database = await PostgresDatabase.open({
    address: { ...address, shallDistribute: false, applicationName: APPLICATION },
    replicas: [],
    connections: 1,
    migrations: parts,
    waitMs: 0,
    mustExist: true,
  })
  const alreadyDistributed = () => new OperatorError(`the database ${place} is distributed already`)
  if (database.isDistributed) throw alreadyDistributed()
  const migrations = parts.flatMap(({ citus }) => citus)
  try {
    const plan = await planOf(database, place, migrations.flatMap(commandsOf))
    begins(plan)
    await database.bulk(async query => {
      await lockTables(query, plan.tables)
      await mustBeUnused(query, place)
      for (const { name } of plan.tables) await continueIds(query, name)
      await query(BESIDE_OTHERS)
      for (const migration of migrations) {
        if (!(await record(query, migration))) throw alreadyDistributed()
        for (const command of commandsOf(migration)) {
          const table = plan.tables.find(({ name }) => name === DISTRIBUTE.exec(command)?.[2])
          if (table) isDoing(table, false)
          await query(command)
          if (table) isDoing(table, true)
        }
      }
      // The coordinator still has the rows in the tables as they were.
      for (const { name } of plan.tables) {
        await query('SELECT truncate_local_data_after_distributing_table($1::regclass)', name)
      }
    })
    return plan
  } catch (error) {
    if (error instanceof OperatorError && error.constructor === OperatorError) throw error
    throw new OperatorError(`nothing was distributed: ${errorMessage(error)}`, { cause: error })
  }
}

/** Rejects with an `OperatorError` if the tables cannot be distributed. */
async function planOf(
  database: PostgresDatabase,
  place: string,
  commands: readonly string[],
): Promise<DistributionPlan> {
  const ask: Query = (sql, ...parameters) => database.readPrimary(sql, ...parameters)
  const cluster = await clusterOf(ask, place)
  await mustBeUnused(ask, place)
  const tables: DistributedTable[] = []
  for (const command of commands) {
    const [, kind, name] = DISTRIBUTE.exec(command) ?? []
    if (name === undefined) continue
    const [table] = await ask<Pick<DistributedTable, 'rows' | 'bytes'>>(
      `SELECT count(*)::float8 AS rows, pg_total_relation_size('${name}')::float8 AS bytes FROM ${name}`,
    )
    tables.push({ name, isWhole: kind === 'reference', rows: table?.rows ?? 0, bytes: table?.bytes ?? 0 })
  }
  return { ...cluster, tables, seconds: await secondsFor(database, tables, cluster.servers) }
}

/** Makes further ids of a table higher than those which another program has chosen for its rows, because lists show no higher ones. */
async function continueIds(query: Query, table: string): Promise<void> {
  const sequence = `${table}_id_seq`
  const [found] = await query<{ has_ids: boolean }>(`SELECT to_regclass('${sequence}') IS NOT NULL AS has_ids`)
  if (!found?.has_ids) return
  await query(
    `SELECT setval('${sequence}', max(id)) FROM ${table} HAVING max(id) >= (SELECT last_value FROM ${sequence})`,
  )
}

async function mustBeUnused(query: Query, place: string): Promise<void> {
  const [others] = await query<{ names: string; number: number }>(OTHER_SESSIONS)
  if (!others?.number) return
  throw new OperatorError(
    `the database ${place} is in use by ${others.number} other sessions (${others.names}); stop all servers first`,
  )
}

/**
 * Estimates the time by a trial in transactions that are rolled back: an empty table, and one with some rows of the first table
 * whose rows are spread.
 */
async function secondsFor(
  database: PostgresDatabase,
  tables: readonly DistributedTable[],
  servers: number,
): Promise<number> {
  const spread = tables.find(({ isWhole }) => !isWhole)
  if (!spread) return 0
  const empty = await trial(database, spread.name, 0)
  const some = await trial(database, spread.name, TRIAL_ROWS)
  const bytes = tables.reduce((sum, table) => sum + table.bytes * (table.isWhole ? servers + 1 : 1), 0)
  const perByte = some.bytes > empty.bytes ? Math.max(some.seconds - empty.seconds, 0) / (some.bytes - empty.bytes) : 0
  // Shards are made for the table, and changed again for its foreign keys.
  return 2 * tables.length * empty.seconds + bytes * perByte
}

/** Distributes a copy of some rows, and rolls that back. */
async function trial(database: PostgresDatabase, table: string, rows: number) {
  let outcome = { seconds: 0, bytes: 0 }
  const trialOver = new Error('the trial is over')
  const tried = database.bulk(async query => {
    await query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    await query(BESIDE_OTHERS)
    await query(`CREATE TABLE stockroom_trial (LIKE ${table} INCLUDING INDEXES)`)
    await query(`INSERT INTO stockroom_trial SELECT * FROM ${table} LIMIT ${rows}`)
    const began = performance.now()
    const [size] = await query<{ bytes: number }>("SELECT pg_total_relation_size('stockroom_trial')::float8 AS bytes")
    await query("SELECT create_distributed_table('stockroom_trial', 'id')")
    outcome = { seconds: (performance.now() - began) / 1_000, bytes: size?.bytes ?? 0 }
    throw trialOver
  })
  await tried.catch(error => {
    if (error !== trialOver) throw error
  })
  return outcome
}
