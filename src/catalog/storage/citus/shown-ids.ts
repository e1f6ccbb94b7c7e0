import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { TableName } from '../resource.ts'
import { shardColumn } from './shards.ts'

/**
 * SQL for the last id that was drawn for a row of a table. A value and no table to join: an update that has waited for the row
 * of a creator looks again at what it joins, and PostgreSQL refuses that for a sequence.
 */
export function lastDrawn(table: TableName): string {
  return `(SELECT last_value - (NOT is_called)::int FROM ${table}_id_seq)`
}

/** SQL that shows all rows of a table whose ids were drawn. Nobody may be creating any. */
export function showDrawn(table: TableName): string {
  const last = lastDrawn(table)
  return `UPDATE shown_ids SET last_id = ${last} WHERE collection = '${table}' AND last_id < ${last}`
}

const SHOW = 'UPDATE shown_ids SET last_id = $2::bigint WHERE collection = $1::text AND last_id < $2::bigint'

const ONE_AT_A_TIME = { statementsMax: 1, inputsMax: 8_192 }

/**
 * Reads the id up to which all rows of a collection are committed on every worker. Citus has no snapshot of several workers, so
 * a statement that asks more than one shard must not show higher ids: it may have asked one shard before a commit and another
 * one after it. Not for a reference table, which is read on one server. Concurrent calls share a statement.
 */
export function shownIds(database: PostgresDatabase, table: TableName): () => Promise<number> {
  const batch = database.batch<null, number>(async asked => {
    const [shown] = await database.readPrimary<{ id: number }>(
      `SELECT last_id::float8 AS id FROM shown_ids WHERE collection = '${table}'`,
    )
    if (!shown) throw new Error(`shown_ids has no row for ${table}`)
    return asked.map(() => shown.id)
  }, ONE_AT_A_TIME)
  return () => batch.add(null)
}

/**
 * Shows the rows of a collection up to an id. Call it when they are committed, and before they are acknowledged. A reference
 * table needs none of it.
 */
export async function showIds(database: PostgresDatabase, table: TableName, lastId: number): Promise<void> {
  if (shardColumn(table) !== null) await database.write(SHOW, table, lastId)
}
