import { MAY_IDLE, PostgresTables } from '../../database/postgres/bulk.ts'
import { LOG_CHANGES } from '../../database/postgres/changes.ts'
import { CitusTables } from '../../database/postgres/citus-bulk.ts'
import { NO_MOVES_WHILE_LOADING, ONE_CONNECTION_PER_WORKER, turns } from '../../database/postgres/citus-locks.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { FairQueue } from '../../limits/fair-queue.ts'
import { countReviews } from '../storage/citus/derived-rows.ts'
import { addDerivedRowsOf } from '../storage/citus/loaded-rows.ts'
import { showIds } from '../storage/citus/shown-ids.ts'
import { LOCK_ALL } from '../storage/postgres/creation.ts'
import { keepAnswers } from '../storage/postgres/keys.ts'
import { Load, type Loader } from './load.ts'
import { BULK_RESOURCES } from './resources.ts'

/** Statement timeout in a server: enough to count the reviews of the largest file. */
const SERVING_STATEMENT_MS = 60_000

/** Lock timeout in a server, equal to SQLite's. A load waits as long for the one before it. */
const SERVING_LOCK_MS = 10_000

/** Lock timeout in a server once it keeps out all creates, which wait no longer than a second. */
const HOLDING_LOCK_MS = 500

/**
 * Each statement that stores reviews would lock the counts of their products until the commit, and the next one waits for rows
 * that others delete. A delete that waits for such counts in turn would be a deadlock, so they are added at the end.
 */
const COUNT_REVIEWS_LATER = "SET LOCAL stockroom.ratings = 'later'"

/** Counts the reviews that this transaction has stored, in place of the trigger (catalog_0002_ratings.sql). */
const COUNT_REVIEWS = `
  WITH changed AS (
    ${countReviews('id BETWEEN $1::bigint AND $2::bigint AND xmin = pg_current_xact_id()::xid')} RETURNING product_id
  )
  INSERT INTO index_notes (part, id) SELECT 'product_values', product_id FROM changed`

/** Ids must become visible in their order, so nothing else is created until the commit. */
const BEGIN = [LOCK_ALL, COUNT_REVIEWS_LATER]

/** On Citus, no review is moved either, so that an id is free on all shards if no row has it. */
const BEGIN_ON_CITUS = [
  `SELECT ${ONE_CONNECTION_PER_WORKER}, ${turns(BULK_RESOURCES.map(({ stored }) => stored.table).toSorted())},
    ${NO_MOVES_WHILE_LOADING}`,
]

export function postgresLoader(database: PostgresDatabase, isServing: boolean): Loader {
  // Each load has a connection of its own, and would only wait there for the one before it.
  const queue = new FairQueue(1)
  return async work => {
    using _ = isServing ? await queue.takeWithin(SERVING_LOCK_MS, 'Too many loads are waiting') : null
    // It is known when the database is ready.
    const { isDistributed } = database
    const statementMs = isServing ? SERVING_STATEMENT_MS : undefined
    const Tables = isDistributed ? CitusTables : PostgresTables
    const { result, changes } = await database.bulk(async (query, connection) => {
      const begin = isDistributed ? BEGIN_ON_CITUS : BEGIN
      // A server has the rows already. In one script, so that creates wait for no answers in between.
      const script = isServing
        ? [`SET LOCAL lock_timeout = ${SERVING_LOCK_MS}`, ...begin, `SET LOCAL lock_timeout = ${HOLDING_LOCK_MS}`]
        : [MAY_IDLE, ...begin]
      await connection.runScript(script.join('; '))
      const load = new Load(new Tables(query, connection, isServing ? 'INSERT' : 'COPY'), {
        takesOnlyNewIds: isServing,
        // Servers go on, and dropping an index would lock them out.
        mayDropIndexes: false,
      })
      const result = await work(load, (claim, answer) => keepAnswers(query, [{ ...claim, answer, revision: null }]))
      const { changes } = load
      const reviews = changes.find(({ table }) => table === 'reviews')
      if (isDistributed) await addDerivedRowsOf(query, changes)
      else if (reviews) await query(COUNT_REVIEWS, reviews.firstId, reviews.lastId)
      await query(LOG_CHANGES, JSON.stringify(changes), changes.length)
      return { result, changes }
    }, statementMs)
    // Lists may show the rows now.
    if (isDistributed) for (const { table, lastId } of changes) await showIds(database, table, lastId)
    return result
  }
}
