import { insertChanges } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { inputOf, LOCK_ALL } from '../../storage/postgres/creation.ts'
import type { KeepAnswers } from '../../storage/postgres/keys.ts'
import { LoadedIds } from '../loaded-ids.ts'
import type { Load, Loader, NewRow, Refusal, Stored, StoredRows } from '../loader.ts'
import { storeNewIds } from '../new-ids.ts'

/** Number of rows per statement. */
const ROWS_AT_ONCE = 5_000

const LOG = insertChanges({ changes: '$1::text::json', events: '$2::integer', isFollowed: true })

/** Lock timeout in a server, equal to SQLite's. */
const SERVING_LOCK_MS = 10_000

/**
 * Each statement that stores reviews would lock the counts of their products until the commit, and the next one waits for rows
 * that others delete. A delete that waits for such counts in turn would be a deadlock, so they are added at the end.
 */
const COUNT_REVIEWS_LATER = "SET LOCAL stockroom.ratings = 'later'"

/** What the trigger would have done (catalog_0002_ratings.sql), for the reviews that this transaction has stored. */
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
      database.bulk(async query => {
        // The rows may arrive slowly.
        await query('SET LOCAL idle_in_transaction_session_timeout = 0')
        if (isServing) await query(`SET LOCAL lock_timeout = ${SERVING_LOCK_MS}`)
        // Ids must become visible in their order, so nothing else is created until the commit.
        await query(LOCK_ALL)
        await query(COUNT_REVIEWS_LATER)
        const loaded = new LoadedIds()
        const result = await work(loadIn(query, { isServing, loaded, keep }))
        await countReviews(query, loaded)
        const { changes } = loaded
        // Other processes may have followers.
        await query(LOG, JSON.stringify(changes), changes.length)
        return result
      }),
  }
}

async function countReviews(query: Query, { changes }: LoadedIds): Promise<void> {
  const reviews = changes.find(({ table }) => table === 'reviews')
  if (reviews) await query(COUNT_REVIEWS, reviews.firstId, reviews.lastId)
}

interface LoadOptions {
  readonly isServing: boolean
  readonly loaded: LoadedIds
  readonly keep: KeepAnswers
}

function loadIn(query: Query, { isServing, loaded, keep }: LoadOptions): Load {
  const tables = new Map<string, PostgresRows>()
  const rowsOf = (resource: StoredRows): PostgresRows => {
    const rows = tables.get(resource.table) ?? new PostgresRows(query, resource)
    tables.set(resource.table, rows)
    return rows
  }
  return {
    isEmpty: async () => {
      const [found] = await query<{ any: boolean }>(
        `SELECT ${['categories', 'products', 'users'].map(table => `EXISTS (SELECT 1 FROM ${table})`).join(' OR ')} AS any`,
      )
      return found?.any === false
    },
    store: async (resource, rows) => {
      const stored = rowsOf(resource)
      const done =
        isServing && rows.some(({ id }) => id !== undefined)
          ? await storeNewIds(rows, await stored.lastId(), numbered => stored.store(numbered))
          : await stored.store(rows)
      return loaded.add(resource, done)
    },
    complete: async () => {
      for (const rows of tables.values()) await rows.continueAfterGivenIds()
    },
    keep: (claim, answer) => keep(query, [{ ...claim, answer, revision: null }]),
  }
}

/** Stores rows of one table. */
class PostgresRows {
  readonly #query: Query
  readonly #table: string
  readonly #insert: string
  #highestGiven = 0
  #continuesAfter = 0

  constructor(query: Query, resource: StoredRows) {
    this.#query = query
    this.#table = resource.table
    this.#insert = insertion(resource)
  }

  async store(rows: readonly NewRow[]): Promise<Stored> {
    const ids: number[] = []
    const refused = new Map<number, Refusal>()
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const some = rows.slice(start, start + ROWS_AT_ONCE)
      for (const { id = 0 } of some) this.#highestGiven = Math.max(this.#highestGiven, id)
      if (some.some(({ id }) => id === undefined)) await this.continueAfterGivenIds()
      const done = await this.#query<{ id: number | null; refused: string | null }>(this.#insert, JSON.stringify(some))
      for (const [place, { id, refused: column }] of done.entries()) {
        if (column !== null) refused.set(start + place, { column, reason: column === 'id' ? 'taken' : 'absent' })
        else if (id !== null) ids.push(id)
      }
    }
    return { ids, refused }
  }

  /** The highest id that any row has or had. */
  async lastId(): Promise<number> {
    const [found] = await this.#query<{ last: number }>(`
      SELECT greatest(last_value - CASE WHEN is_called THEN 0 ELSE 1 END, (SELECT max(id) FROM ${this.#table}))::float8 AS last
      FROM ${this.#table}_id_seq`)
    return found?.last ?? 0
  }

  /** Makes the next id higher than all ids so far. */
  async continueAfterGivenIds(): Promise<void> {
    if (this.#highestGiven <= this.#continuesAfter) return
    this.#continuesAfter = this.#highestGiven
    const [counter] = await this.#query<{ last: number }>(
      `SELECT last_value::float8 AS last FROM ${this.#table}_id_seq`,
    )
    if (this.#highestGiven < (counter?.last ?? 0)) return
    // Unlike setval(), this is rolled back with the transaction. Unlike ALTER TABLE, it waits for no statement on the table:
    // a create that waits for our locks would hold it up forever.
    await this.#query(`ALTER SEQUENCE ${this.#table}_id_seq RESTART WITH ${this.#highestGiven + 1}`)
  }
}

/** SQL that stores the valid rows of a JSON array, and returns the outcome for each row, in the same order. */
function insertion({ table, columns, references }: StoredRows): string {
  const names = Object.keys(columns).join(', ')
  const { input } = inputOf({ id: 'integer', ...columns })
  const isTaken = `input.id IS NOT NULL AND (EXISTS (SELECT 1 FROM ${table} WHERE ${table}.id = input.id)
    OR row_number() OVER (PARTITION BY input.id ORDER BY place) > 1)`
  const absences = references.map(
    ({ column, table: owners }) => `
      WHEN input.${column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${owners} WHERE ${owners}.id = input.${column})
      THEN '${column}'`,
  )
  return `
    WITH checked AS MATERIALIZED (
      SELECT input.*, CASE WHEN ${isTaken} THEN 'id' ${absences.join('')} END AS refused FROM ${input}
    ),
    numbered AS MATERIALIZED (
      SELECT coalesce(id, nextval('${table}_id_seq')) AS id, ${names}, place
      FROM (SELECT * FROM checked WHERE refused IS NULL ORDER BY place) AS accepted
    ),
    written AS (INSERT INTO ${table} (id, ${names}) SELECT id, ${names} FROM numbered ORDER BY place)
    SELECT numbered.id::float8 AS id, checked.refused
    FROM checked LEFT JOIN numbered ON numbered.place = checked.place
    ORDER BY checked.place`
}
