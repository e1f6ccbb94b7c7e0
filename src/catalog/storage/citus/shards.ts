import { NO_MOVES } from '../../../database/postgres/citus-locks.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import type { TableName } from '../resource.ts'

/**
 * How Citus spreads each table. Rows of a reference table are whole on every server. Those of the others are on the shard of their
 * product, so that one shard has a product with its reviews.
 */
const SHARDED_BY: Readonly<Record<TableName, string | null>> = {
  categories: null,
  users: null,
  products: 'id',
  reviews: 'product_id',
}

/** The column that decides which shard has a row; `null` for a reference table. */
export function shardColumn(table: TableName): string | null {
  return SHARDED_BY[table]
}

const HOLD_MOVES = `SELECT ${NO_MOVES}`

/**
 * Reads rows of several shards, while none of them is moved to another one. Without it, a statement that asks one shard before a
 * move and another one after it would find the row twice, or not at all. Other writes go on: each shard is of one moment of its own.
 */
export function readAcross<Result>(
  database: PostgresDatabase,
  table: TableName,
  work: (ask: Query) => Promise<Result>,
): Promise<Result> {
  return database.readTogether(table, async ask => {
    // Sent at once: the server begins a statement when it has ended the one before.
    const [, result] = await Promise.all([ask(HOLD_MOVES), work(ask)])
    return result
  })
}
