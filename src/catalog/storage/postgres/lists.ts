import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import type { Cursor, ListQuery } from '../query.ts'
import type { ListSql, ParameterSql } from '../query-sql.ts'
import type { Values } from '../resource.ts'
import type { IdPage } from '../store.ts'
import { typed } from './creation.ts'
import { idArray } from './rows.ts'

export const POSTGRES_PARAMETERS: ParameterSql = {
  value: (number, type) => typed(`$${number}`, type),
  // As for `IDS`, the planner does not see how many they are.
  isAmong: (column, number) => `${column} = ANY ((SELECT $${number}::bigint[])::bigint[])`,
  integers: idArray,
}

/** SQL for a list, whose rows are each `owner`, and the parameters in it. */
interface RowsSql extends Pick<ListSql, 'orderBy' | 'parameters'> {
  /** Common table expressions. */
  readonly before?: string
  /** The part after `FROM`. */
  readonly from: string
  /** Of a row; `null` for pages without revisions. */
  readonly revision: string | null
  /** Whether the list has no other rows than those that are looked through, which is so unless only the first are. */
  readonly isWhole?: string
}

/** The places of rows in a list, with their revisions unless those were not read. */
export interface Placed {
  readonly places: readonly Cursor[]
  readonly revisions: readonly (number | null)[] | null
}

export interface Places extends Placed {
  /** Whether the list has no other rows than those that were looked through. */
  readonly isWhole: boolean
}

/** Reads the ids of a page. */
export async function readPage<Row extends Values>(
  database: PostgresDatabase,
  ask: Query,
  query: ListQuery<Row>,
  sql: RowsSql,
): Promise<IdPage> {
  return pageOf(await readPlaces(database, ask, query, sql), query.limit)
}

/** Reads the places of a page, and one more if there are more, as one row: it tells the state of the database even if there are none. */
export async function readPlaces<Row extends Values>(
  database: PostgresDatabase,
  ask: Query,
  { order, from: { skip }, limit }: ListQuery<Row>,
  { before = '', from, parameters, orderBy, revision, isWhole = 'TRUE' }: RowsSql,
): Promise<Places> {
  const columns = [...order.by, 'id'].map(column => `owner.${column}`)
  // A place in the order of ids is the id itself.
  const place = order.by.length > 0 ? `json_build_array(${columns})` : 'owner.id'
  const listed = (sql: string) => `json_agg(${sql} ORDER BY ${orderBy})::text`
  const [page] = await ask<{ places: string | null; revisions: string | null; whole: boolean; state: string | null }>(
    `${before}SELECT ${listed(place)} AS places, ${revision === null ? 'NULL' : listed(revision)} AS revisions,
      ${isWhole} AS whole, ${database.changes.state} AS state
    FROM (
      SELECT * FROM ${from}
      ORDER BY ${orderBy} LIMIT $${parameters.length + 1}::bigint OFFSET $${parameters.length + 2}::bigint
    ) AS owner`,
    ...[...parameters, limit + 1, skip],
  )
  database.changes.observe(page?.state ?? null)
  const places: readonly (number | Cursor)[] = JSON.parse(page?.places ?? '[]')
  return {
    places: places.map(place => (typeof place === 'number' ? [place] : place)),
    revisions: revision === null ? null : JSON.parse(page?.revisions ?? '[]'),
    isWhole: page?.whole ?? false,
  }
}

/** The page of a list whose places were read, and one more if there are more. */
export function pageOf({ places, revisions }: Placed, limit: number): IdPage {
  const shown = places.slice(0, limit)
  return {
    ids: shown.map(place => Number(place.at(-1))),
    last: shown.at(-1) ?? null,
    more: places.length > limit,
    revisions: revisions?.slice(0, limit) ?? null,
  }
}

/** Counts the rows of a list, up to a limit. */
export async function countRows(
  database: PostgresDatabase,
  ask: Query,
  { before = '', from, parameters }: Omit<RowsSql, 'orderBy' | 'revision'>,
  most: number,
): Promise<number> {
  const [row] = await ask<{ number: number; state: string | null }>(
    `${before}SELECT count(*)::float8 AS number, ${database.changes.state} AS state
    FROM (SELECT FROM ${from} LIMIT $${parameters.length + 1}::bigint) AS counted`,
    ...[...parameters, most],
  )
  database.changes.observe(row?.state ?? null)
  return row?.number ?? 0
}
