import type { LoadedRows } from '../../../database/change.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { noteRows } from '../postgres/index-slices.ts'
import type { TableName } from '../resource.ts'
import { countReviews } from './derived-rows.ts'
import { shardColumn } from './shards.ts'
import { showDrawn } from './shown-ids.ts'

/** SQL that notes for the index the rows of a table which meet a condition. */
function note(table: TableName, which: string): string {
  return table === 'reviews'
    ? `INSERT INTO index_notes (part, id)
      SELECT 'product_values', product_id FROM reviews WHERE ${which} GROUP BY product_id`
    : noteRows(table, which)
}

/** Those that this transaction has stored, each worker in its part of it: `age` is taken there. */
const LOADED = 'id BETWEEN $1::bigint AND $2::bigint AND age(xmin) = 0'

/**
 * Writes what triggers write on plain PostgreSQL, for the rows that a transaction has loaded. It always asks all shards to count
 * reviews, so that the transaction commits in two phases.
 */
export async function addDerivedRowsOf(
  query: Query,
  loaded: readonly (LoadedRows & { readonly table: TableName })[],
): Promise<void> {
  const { firstId = 1, lastId = 0 } = loaded.find(({ table }) => table === 'reviews') ?? {}
  await query(countReviews(LOADED), firstId, lastId)
  for (const { table, firstId, lastId } of loaded) await query(note(table, LOADED), firstId, lastId)
}

/** SQL for what follows from the rows of a table that was empty: what triggers write, and that all rows are shown. */
export function afterCopy(table: TableName): string[] {
  return [
    ...(table === 'reviews' ? [countReviews('TRUE')] : []),
    note(table, 'TRUE'),
    ...(shardColumn(table) === null ? [] : [showDrawn(table)]),
  ]
}
