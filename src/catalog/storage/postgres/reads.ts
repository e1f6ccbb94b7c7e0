import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Parameter } from '../../../database/postgres/pool.ts'
import type { ListQuery } from '../query.ts'
import { NESTED_MAX, type StoredResource, type Values } from '../resource.ts'
import type { Found, IdPage, Read, RowReads } from '../store.ts'
import { CHUNK_WEIGHT_MAX } from '../weights.ts'
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

/** Resources of a long list that are read at a time, unless they are heavy. */
const SCAN_ITEMS = 200

/** Reads the ids of a page. */
export type ReadPage<Row extends Values> = (query: ListQuery<Row>) => Promise<IdPage>

/** Reads rows as resources with the members that `resource` shows. */
export function rowReads<Row extends Values>(
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
