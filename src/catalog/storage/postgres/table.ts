import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Parameter, Query } from '../../../database/postgres/pool.ts'
import { type Cursor, type ListQuery, looksAtValues } from '../query.ts'
import { type ListSql, listSql, type ParameterSql } from '../query-sql.ts'
import { NESTED_MAX, type StoredResource, type Values } from '../resource.ts'
import type { Found, IdPage, Read, ResourceTable, RowReads } from '../store.ts'
import { CHUNK_WEIGHT_MAX } from '../weights.ts'
import { creating, typed } from './creation.ts'
import {
  groupedRows,
  IDS,
  idArray,
  isFirst,
  oneRow,
  PostgresRows,
  type ResourceRow,
  severalRows,
  type WeighedGroup,
} from './rows.ts'
import { postgresWrites } from './writes.ts'

export const POSTGRES_PARAMETERS: ParameterSql = {
  value: (number, type) => typed(`$${number}`, type),
  // As for `IDS`, the planner does not see how many they are.
  isAmong: (column, number) => `${column} = ANY ((SELECT $${number}::bigint[])::bigint[])`,
  integers: idArray,
}

/** Resources of a long list that are read at a time, unless they are heavy. */
const SCAN_ITEMS = 200

/** Reads and writes one kind of resource. */
export function postgresTable<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
): ResourceTable<Row> {
  const { table } = resource
  const rows = new PostgresRows(resource)
  const create = creating(database, resource, row => rows.found({ row, items: [] }))
  const ask: Query = (sql, ...parameters) => database.read(sql, ...parameters)
  const page: ReadPage<Row> = query => {
    const { where, orderBy, parameters } = listSql(resource, query, POSTGRES_PARAMETERS)
    const revision = looksAtValues(query) ? 'owner.revision' : null
    return readPage(database, ask, query, { from: `${table} AS owner WHERE ${where}`, orderBy, parameters, revision })
  }

  return {
    reads: some => rowReads(database, some, page),
    page,
    count: (query, most) => {
      const { where, parameters } = listSql(resource, query, POSTGRES_PARAMETERS)
      return countRows(database, ask, { from: `${table} AS owner WHERE ${where}`, parameters }, most)
    },
    // The pieces may come from a different replica than the last place.
    canScan: () => database.shownByReplicas(),
    create,
    ...postgresWrites(database, resource, rows),
  }
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

/** Reads the ids of a page. */
export type ReadPage<Row extends Values> = (query: ListQuery<Row>) => Promise<IdPage>

/** Reads rows as resources with the members that `resource` shows. */
function rowReads<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  page: ReadPage<Row>,
): RowReads<Row> {
  const { array } = resource
  const rows = new PostgresRows(resource)
  const { state } = database.changes
  const one = oneRow(resource, { state })
  const several = severalRows(resource, { state, ids: IDS })
  const grouped = array && groupedRows(resource, array, { state, isScan: false })
  const scanned = array && groupedRows(resource, array, { state, isScan: true })
  const readBy = async (sql: string, ...parameters: Parameter[]): Promise<Grouped> => {
    const read = await database.read<ResourceRow>(sql, ...parameters)
    database.changes.observe(read.find(isFirst)?.state ?? null)
    return rows.grouped(read)
  }
  const readOne = (id: number) => readBy(one, id)
  const readSeveral = oneOrSeveral(
    // It needs no plan for many, and is read as a whole at once.
    async id => inOrder(rows, [id], await readOne(id), readOne),
    async ids => inOrder(rows, ids, await readBy(several, idArray(ids)), readOne),
  )
  const readGrouped = async (ids: readonly number[], sql: string, ...scannedMax: number[]): Promise<Read> => {
    const read = await readBy(sql, idArray(ids), ...scannedMax)
    return read.size > 0 ? inOrder(rows, ids, read, readOne) : readSeveral(ids)
  }
  const readSingle = singly(database, ids => (grouped && ids.length > 1 ? readGrouped(ids, grouped) : readSeveral(ids)))
  const read = oneOrSeveral(readSingle, ids =>
    scanned ? readGrouped(ids, scanned, (ids.length + 1) * NESTED_MAX) : readSeveral(ids),
  )
  return { read, scan: scanning(page, read) }
}

/** Reads resources by their ids. */
export type ReadIds = (ids: readonly number[]) => Promise<Read>

export function oneOrSeveral(readOne: (id: number) => Promise<Read>, readSeveral: ReadIds): ReadIds {
  return ids => {
    const [id] = ids
    return ids.length === 1 && id !== undefined ? readOne(id) : readSeveral(ids)
  }
}

/** Reads single resources, concurrent ones by one call of `read`. */
export function singly(database: PostgresDatabase, read: ReadIds): (id: number) => Promise<Read> {
  const batch = database.batch<number, Read>(async inputs => {
    const byId = new Map<number, Read>()
    for (let ids = [...new Set(inputs)]; ids.length > 0; ) {
      const { found, count } = await read(ids)
      for (const one of found) byId.set(one.id, { found: [one], count: 1 })
      ids = ids.slice(count)
    }
    return inputs.map(id => byId.get(id) ?? { found: [], count: 1 })
  })
  return id => batch.add(id)
}

/** Resources that one statement has read, by their ids. */
type Grouped = ReadonlyMap<number, WeighedGroup>

/**
 * Resources in the order of their ids, up to the weight limit, and at least one of them. `readOne` reads the heavy ones again, each
 * as a whole.
 */
export async function inOrder<Row extends Values>(
  rows: PostgresRows<Row>,
  ids: readonly number[],
  read: Grouped,
  readOne: (id: number) => Promise<Grouped>,
): Promise<Read> {
  const found: Found[] = []
  let weight = 0
  for (const [place, id] of ids.entries()) {
    let known = read.get(id)
    if (!known) continue
    weight += known.weight
    if (!known.isWhole) known = (await readOne(id)).get(id)
    // Otherwise it was deleted meanwhile.
    if (known) found.push(rows.found(known))
    if (weight > CHUNK_WEIGHT_MAX) return { found, count: place + 1 }
  }
  return { found, count: ids.length }
}

/** Reads the ids of a piece of a long list, then their rows. */
export function scanning<Row extends Values>(page: ReadPage<Row>, read: ReadIds): RowReads<Row>['scan'] {
  return async query => {
    const { ids, more } = await page({ ...query, limit: SCAN_ITEMS })
    if (ids.length === 0) return { items: [], last: null }
    const { found, count } = await read(ids)
    return { items: found, last: more || count < ids.length ? (ids[count - 1] ?? null) : null }
  }
}
