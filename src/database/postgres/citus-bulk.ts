import { once } from '../../shared.ts'
import type { Row, Table } from '../table.ts'
import { LIMIT_WAIT, PostgresTables } from './bulk.ts'
import { ALONE, turns } from './citus-locks.ts'
import type { PostgresDatabase } from './database.ts'
import type { Query } from './pool.ts'

/** Not a SELECT, which would take the snapshot of the coordinator. */
const SET_ONE_CONNECTION_PER_WORKER = "SET LOCAL citus.multi_shard_modify_mode = 'sequential'"

/** Ids between which rows are read at once. The coordinator collects them before it sends the first. */
const IDS_AT_ONCE = 10_000

/** After a transaction has used the coordinator's part of a table past its connections, Citus makes no indexes in it. */
const NO_LOCAL_EXECUTION = 'SET LOCAL citus.enable_local_execution = off'

interface DistributedTable {
  readonly name: string
  /** The column that decides which shard has a row; `null` if each server has all rows. */
  readonly shardColumn: string | null
}

const DISTRIBUTED_TABLES = `
  SELECT logicalrelid::text AS name, column_to_column_name(logicalrelid, partkey) AS "shardColumn"
  FROM pg_dist_partition ORDER BY 1`

/**
 * Makes a transaction that reads take a snapshot of all servers. Each worker takes its own when it is first asked, so nobody writes
 * until all of them have done so. Writers hold these locks until all workers have committed.
 */
export async function takeSnapshots(database: PostgresDatabase, query: Query): Promise<void> {
  await query(SET_ONE_CONNECTION_PER_WORKER)
  const tables = await database.readPrimary<DistributedTable>(DISTRIBUTED_TABLES)
  const names = tables.map(({ name }) => name)
  await database.transaction(async ask => {
    await ask(LIMIT_WAIT)
    await ask(`SELECT ${turns(names)}, ${ALONE}`)
    // Asks all shards.
    for (const name of names) await query(`SELECT 1 FROM ${name} LIMIT 1`)
  })
}

/** Prepares a transaction that fills tables, and makes their indexes. */
export async function beginFillingShards(query: Query): Promise<void> {
  await query(SET_ONE_CONNECTION_PER_WORKER)
  await query(NO_LOCAL_EXECUTION)
}

/** Reads and fills tables that may be distributed, in a transaction with one connection to each worker. */
export class CitusTables extends PostgresTables {
  readonly #shardColumns = once(async () => {
    const tables = await this.query<DistributedTable>(DISTRIBUTED_TABLES)
    return new Map(tables.map(({ name, shardColumn }) => [name, shardColumn]))
  })

  /** Reads few ids at a time: of a whole table, the coordinator would make a sorted file first. */
  override async *rows(table: Table): AsyncGenerator<readonly Row[]> {
    const { name, key, columns } = table
    if (columns[key] !== 'integer') {
      yield* super.rows(table)
      return
    }
    for (let last = 0; ; ) {
      const [next] = await this.query<{ id: number | null }>(
        `SELECT min(${key})::float8 AS id FROM ${name} WHERE ${key} > ${last}`,
      )
      if (typeof next?.id !== 'number') return
      last = next.id + IDS_AT_ONCE - 1
      yield* this.rowsWhere(`${key} BETWEEN ${next.id} AND ${last}`, table)
    }
  }

  override async existing(table: Pick<Table, 'name' | 'key'>, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const { name, key } = table
    const shardColumn = (await this.#shardColumns()).get(name)
    if (!shardColumn) return super.existing(table, ids)
    if (shardColumn !== key) {
      // A statement that asks several shards can lock no rows.
      const found = await this.query<{ id: number }>(
        `SELECT ${key}::float8 AS id FROM ${name} WHERE ${key} = ANY ($1::bigint[])`,
        `{${ids}}`,
      )
      return new Set(found.map(({ id }) => id))
    }
    const shards = await this.query<{ ids: string }>(
      `SELECT array_agg(id)::text AS ids FROM unnest($1::bigint[]) AS id
      GROUP BY get_shard_id_for_distribution_column('${name}', id)`,
      `{${ids}}`,
    )
    const all = new Set<number>()
    for (const shard of shards) {
      // Constants, because Citus has to know that they are on one shard.
      const found = await this.query<{ id: number }>(
        `SELECT ${key}::float8 AS id FROM ${name} WHERE ${key} = ANY ('${shard.ids}'::bigint[]) ORDER BY ${key} FOR KEY SHARE`,
      )
      for (const { id } of found) all.add(id)
    }
    return all
  }

  override async complete(report: (done: number, total: number) => void): Promise<void> {
    await super.complete(report)
    for (const { citusAfterCopy = [] } of this.bare) for (const sql of citusAfterCopy) await this.query(sql)
  }
}
