import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { Parameter } from '../../database/postgres/pool.ts'
import type { Resource } from '../operation.ts'
import type { Remembered } from '../remembered.ts'
import type { Chunk, ListItem, Listing } from './listing.ts'

/**
 * Reads the rows that `source`, a part of a table in order of id, has for its parameters: one more than the limit, which
 * tells whether the listing goes on.
 */
export type ReadChunk = (source: string, parameters: Parameter[], limit: number) => Promise<Chunk<ListItem>>

interface PageRow {
  readonly ids: string | null
  /** At which they were read. */
  readonly state: string | null
}

interface EndRow {
  readonly id: number | null
  /** How many ids there are from the last one of the list on: of two. */
  readonly number: number
  readonly last: number | null
}

/** Which rows of a table a listing holds. */
interface Scope {
  readonly table: string
  /** In SQL, about the `parameters`; they are counted from $5. */
  readonly condition: string
  readonly parameters: Parameter[]
  readonly absentParent: () => Promise<Resource | null>
}

/** Everything that a table has. */
export function allOf(table: 'categories' | 'products' | 'users' | 'reviews'): Scope {
  return { table, condition: 'TRUE', parameters: [], absentParent: async () => null }
}

export function postgresListing(
  database: PostgresDatabase,
  { readChunk, remembered }: { readonly readChunk: ReadChunk; readonly remembered: Remembered },
  { table, condition, parameters, absentParent }: Scope,
): Listing {
  const after = `FROM ${table} WHERE id > $1::bigint AND ${condition}`
  const ids = `SELECT id ${after} ORDER BY id LIMIT $3::bigint OFFSET $4::bigint`
  const rows = `SELECT * ${after} AND id <= $2::bigint ORDER BY id LIMIT $3::bigint OFFSET $4::bigint`
  // Passes over ids in an index, not over rows.
  const rowsBeyond = `
    SELECT * FROM ${table}
    WHERE id >= (SELECT id ${after} ORDER BY id LIMIT 1 OFFSET $4::bigint) AND id <= $2::bigint AND ${condition}
    ORDER BY id LIMIT $3::bigint`
  const end = `
    SELECT min(id)::float8 AS id, count(*)::int AS number, (SELECT max(id)::float8 ${after}) AS last
    FROM (${ids}) AS found WHERE id <= $2::bigint`

  /** The list out of what is remembered; the database is asked for its ids alone. */
  const recall = async (parameters: Parameter[], limit: number): Promise<Chunk<ListItem> | null> => {
    const [page] = await database.read<PageRow>(
      `SELECT string_agg(id::text, ',' ORDER BY id) AS ids, ${database.changes.state} AS state
      FROM (${ids}) AS page WHERE id <= $2::bigint`,
      ...parameters,
    )
    if (!page?.ids || !database.changes.saw(page.state)) return null
    const found = page.ids.split(',').map(Number)
    const items = remembered.getAll(found.slice(0, limit))
    return items ? { items, more: found.length > limit } : null
  }

  return {
    read: async ({ afterId, untilId, limit, skip }) => {
      const range = [afterId, untilId, limit + 1, skip, ...parameters]
      // What streams on has a last id, and is too long to be remembered.
      const recalls = untilId === Number.MAX_SAFE_INTEGER && !remembered.isEmpty()
      const recalled = recalls ? await recall(range, limit) : null
      return recalled ?? readChunk(skip === 0 ? rows : rowsBeyond, range, limit)
    },
    end: async ({ afterId, untilId, limit, skip }) => {
      // Of a list without a limit, all ids would be passed over to find that there is none beyond.
      const wanted = limit < Number.MAX_SAFE_INTEGER ? [2, skip + limit - 1] : [0, 0]
      const [found] = await database.read<EndRow>(end, afterId, untilId, ...wanted, ...parameters)
      // The pieces up to there may be read from other replicas than the one that has shown it.
      await database.shownByReplicas()
      return { lastId: found?.id ?? found?.last ?? 0, more: found?.number === 2 }
    },
    absentParent,
  }
}
