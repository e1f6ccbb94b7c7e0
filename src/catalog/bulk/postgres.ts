import { MAY_IDLE, PostgresTables } from '../../database/postgres/bulk.ts'
import { insertChanges } from '../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { LOCK_ALL } from '../storage/postgres/creation.ts'
import type { KeepAnswers } from '../storage/postgres/keys.ts'
import { Load, type Loader } from './load.ts'

/** Logs what was loaded. */
export const LOG_LOADED = insertChanges({ changes: '$1::text::json', events: '$2::integer', isFollowed: true })

/** Lock timeout in a server, equal to SQLite's. */
export const SERVING_LOCK_MS = 10_000

/**
 * Each statement that stores reviews would lock the counts of their products until the commit, and the next one waits for rows
 * that others delete. A delete that waits for such counts in turn would be a deadlock, so they are added at the end.
 */
const COUNT_REVIEWS_LATER = "SET LOCAL stockroom.ratings = 'later'"

/** Counts the reviews that this transaction has stored, in place of the trigger (catalog_0002_ratings.sql). */
const COUNT_REVIEWS = `
  WITH changed AS (INSERT INTO product_ratings AS kept (product_id, one_star, two_stars, three_stars, four_stars, five_stars)
  SELECT product_id, count(*) FILTER (WHERE rating = 1), count(*) FILTER (WHERE rating = 2),
    count(*) FILTER (WHERE rating = 3), count(*) FILTER (WHERE rating = 4), count(*) FILTER (WHERE rating = 5)
  FROM reviews WHERE id BETWEEN $1::bigint AND $2::bigint AND xmin = pg_current_xact_id()::xid
  GROUP BY product_id ORDER BY product_id
  ON CONFLICT (product_id) DO UPDATE
  SET one_star = kept.one_star + excluded.one_star, two_stars = kept.two_stars + excluded.two_stars,
    three_stars = kept.three_stars + excluded.three_stars, four_stars = kept.four_stars + excluded.four_stars,
    five_stars = kept.five_stars + excluded.five_stars
  RETURNING product_id)
  INSERT INTO index_notes (part, id) SELECT 'product_values', product_id FROM changed`

export function postgresLoader(database: PostgresDatabase, isServing: boolean, keep: KeepAnswers): Loader {
  return {
    load: work =>
      database.bulk(async (query, connection) => {
        await query(MAY_IDLE)
        if (isServing) await query(`SET LOCAL lock_timeout = ${SERVING_LOCK_MS}`)
        // Ids must become visible in their order, so nothing else is created until the commit.
        await query(LOCK_ALL)
        await query(COUNT_REVIEWS_LATER)
        const load = new Load(new PostgresTables(query, connection), {
          takesOnlyNewIds: isServing,
          // Servers go on, and dropping an index would lock them out.
          mayDropIndexes: false,
          keep: (claim, answer) => keep(query, [{ ...claim, answer, revision: null }]),
        })
        const result = await work(load)
        const { changes } = load
        const reviews = changes.find(({ table }) => table === 'reviews')
        if (reviews) await query(COUNT_REVIEWS, reviews.firstId, reviews.lastId)
        // Other processes may have followers.
        await query(LOG_LOADED, JSON.stringify(changes), changes.length)
        return result
      }),
  }
}
