import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { RUNNING_TRANSACTIONS } from '../../../database/postgres/history.ts'

/**
 * The first notes, with their transactions. They are visible before the workers have committed, so those are left out whose
 * transaction still holds the lock on its own id. What the others have prepared on workers is in `pg_dist_transaction` for a
 * while, and on each such worker one of the products is found. Citus keeps the names of what a transaction has prepared there.
 */
const ENDED = `
  WITH notes AS MATERIALIZED (
    SELECT number, part, id, xmin AS writer FROM index_notes
    WHERE xmin NOT IN (${RUNNING_TRANSACTIONS}) ORDER BY number LIMIT $1::bigint
  ), prepared AS MATERIALIZED (
    SELECT groupid, gid, xmin AS writer FROM pg_dist_transaction WHERE xmin IN (SELECT writer FROM notes)
  ), products AS (
    SELECT groupid, min(id) AS id FROM notes
    JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('products', id)
    WHERE part IN ('products', 'product_values') AND groupid IN (SELECT groupid FROM prepared) GROUP BY groupid
  )
  SELECT (SELECT json_agg(json_build_array(number, writer::text) ORDER BY number) FROM notes)::text AS notes,
    (SELECT json_object_agg(gid, writer::text) FROM prepared)::text AS prepared,
    (SELECT json_object_agg(groupid, id) FROM products)::text AS products`

const PREPARED_AT = 'SELECT prepared_transactions($1::bigint) AS found'

/**
 * The numbers of the first notes whose rows can be read: everything that their transactions have changed is committed on its
 * worker. If a worker fails between the two phases of a commit, the client may have its answer already, but the rows are missing
 * until Citus completes the commit (`citus.recover_2pc_interval`). Until then, these notes and all later ones have to wait. For
 * categories and users no worker is asked: they are read on the coordinator.
 */
export async function finishedNotes(database: PostgresDatabase, most: number): Promise<readonly number[]> {
  const [ended] = await database.readPrimary<Record<'notes' | 'prepared' | 'products', string | null>>(ENDED, most)
  const notes: readonly (readonly [number, string])[] = JSON.parse(ended?.notes ?? '[]')
  const writerOf: Readonly<Record<string, string>> = JSON.parse(ended?.prepared ?? '{}')
  const products: Readonly<Record<string, number>> = JSON.parse(ended?.products ?? '{}')
  const unfinished = new Set<string | undefined>()
  for (const [worker, product] of Object.entries(products)) {
    // Citus sends the call to the worker of the product, if it is neither in a transaction nor part of another query.
    const [answer] = await database.write<{ found: string }>(PREPARED_AT, product)
    const [place, ...names] = answer?.found.split(' ') ?? []
    if (place !== worker) return []
    for (const name of names) unfinished.add(writerOf[name])
  }
  const first = notes.findIndex(([, writer]) => unfinished.has(writer))
  return notes.slice(0, first === -1 ? notes.length : first).map(([number]) => number)
}
