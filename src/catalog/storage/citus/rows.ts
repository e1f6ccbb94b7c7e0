import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import {
  cappedBytesOf,
  columnSql,
  ITEM_PREFIX,
  type JoinedRow,
  NESTED_MAX_BYTES,
  oneRow,
  PostgresRows,
  type RawRow,
  severalRows,
  textsIf,
  type WeighedGroup,
} from '../postgres/rows.ts'
import { singly } from '../postgres/table.ts'
import { NESTED_MAX, type NestedArray, type StoredResource, type Values } from '../resource.ts'
import { nestedObjects, selectedItemColumns } from '../shape.ts'
import type { Read } from '../store.ts'
import { CHUNK_WEIGHT_MAX } from '../weights.ts'
import type { Places } from './places.ts'
import { idArray, readAcross, shardColumn } from './shards.ts'
import { shownIds } from './shown-ids.ts'

type ReadIds = (ids: readonly number[]) => Promise<Read>

/** Makes the function that reads resources by their ids. */
export function rowReader<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  places: Places,
): ReadIds {
  if (places.column !== null) return placedReader(database, resource, places, places.column)
  if (shardColumn(resource.table) !== null) return shardReader(database, resource)
  return resource.array ? ownersReader(database, resource, resource.array) : referenceReader(database, resource)
}

/** For rows whose ids tell their shards. One of them is read on one shard, as of one moment. */
function shardReader<Row extends Values>(database: PostgresDatabase, resource: StoredResource<Row>): ReadIds {
  const rows = new PostgresRows(resource)
  const [one, several] = [oneRow(resource), severalRows(resource)]
  const readOne = async (id: number) =>
    rows.joined(await database.readShard<JoinedRow>(resource.table, one, id)).get(id)
  return async ids => {
    const [id] = ids
    if (ids.length === 1 && id !== undefined) return onlyOne(rows, await readOne(id))
    const read = await readAcross(database, resource.table, ask => ask<JoinedRow>(several, idArray(ids)))
    return inOrder(rows, ids, rows.joined(read), readOne)
  }
}

/** For rows that are on the shards of others, whose ids are in `column`. */
function placedReader<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  places: Places,
  column: string,
): ReadIds {
  const rows = new PostgresRows(resource)
  // Rows that are shown with these are on the same shards.
  const alongside = nestedObjects(resource).filter(({ table }) => shardColumn(table) === 'id')
  const placed = [`owner.${column}`, ...alongside.map(({ name }) => `"${name}".id`)]
  const one = oneRow(resource, placed.map(name => ` AND ${name} = $2::bigint`).join(''))
  const several = severalRows(resource, placed.map(name => ` AND ${name} = ANY ($2::bigint[])`).join(''))
  const find = `SELECT id::float8 AS id, ${columnSql(resource.table, column, 'integer')} AS ${column}
    FROM ${resource.table} WHERE id = ANY ($1::bigint[])`

  const readAt = async (ask: Query, ids: readonly number[]): Promise<Map<number, WeighedGroup>> => {
    const known = [...new Set(ids.flatMap(id => places.of(id) ?? []))]
    return known.length === 0 ? new Map() : rows.joined(await ask<JoinedRow>(several, idArray(ids), idArray(known)))
  }
  const readOne = async (ask: Query, id: number) => {
    const place = places.of(id)
    return place === undefined ? undefined : rows.joined(await ask<JoinedRow>(one, id, place)).get(id)
  }
  const read: ReadIds = ids =>
    readAcross(database, resource.table, async ask => {
      const groups = await readAt(ask, ids)
      const others = ids.filter(id => !groups.has(id))
      if (others.length > 0) {
        // By their ids alone: a join on all shards takes five times as long.
        const found = await ask<{ id: number }>(find, idArray(others))
        for (const row of found) places.note(row)
        const there = found.map(({ id }) => id)
        for (const [id, group] of await readAt(ask, there)) groups.set(id, group)
      }
      return inOrder(rows, ids, groups, id => readOne(ask, id))
    })
  const search = singly(database, read)
  const ask: Query = (sql, ...parameters) => database.readShard(resource.table, sql, ...parameters)

  return async ids => {
    const [id] = ids
    if (ids.length !== 1 || id === undefined) return read(ids)
    const guessed = await readOne(ask, id)
    return guessed ? onlyOne(rows, guessed) : search(id)
  }
}

/** For rows of a reference table, without anything of other tables. */
function referenceReader<Row extends Values>(database: PostgresDatabase, resource: StoredResource<Row>): ReadIds {
  const rows = new PostgresRows(resource)
  const [one, several] = [oneRow(resource), severalRows(resource)]
  return async ids => {
    const read = await database.read<JoinedRow>(several, idArray(ids))
    return inOrder(rows, ids, rows.joined(read), async id =>
      rows.joined(await database.read<JoinedRow>(one, id)).get(id),
    )
  }
}

/** Limit on the texts of the items that one statement reads. Longer ones than their share are read by another one. */
const TEXTS_MAX = 16_777_216

/** An item of an array, without its long texts if these are too long. */
type ItemRow = RawRow & {
  readonly owner_id: number
  readonly weight: number
  readonly is_whole: boolean
}

/**
 * For rows of a reference table with the items that refer to them, which are on all shards. Citus joins no reference table with
 * the first items of each of its rows, so one statement reads the rows and another one the items.
 */
function ownersReader<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  array: NestedArray,
): ReadIds {
  const rows = new PostgresRows(resource)
  const alone = { ...resource, array: null }
  const [one, several] = [oneRow(alone), severalRows(alone)]
  const shown = shownIds(database, array.table)
  const { firstItems, wholeItems } = arrayReads(array)

  const read: ReadIds = async ids => {
    // Before the items are read: all of them up to this id are committed.
    const lastId = await shown()
    return readAcross(database, array.table, async ask => {
      const [own, items] = await Promise.all([
        ask<JoinedRow>(several, idArray(ids)),
        firstItems(ask, ids, lastId ?? Number.MAX_SAFE_INTEGER),
      ])
      const groups = new Map<number, WeighedGroup>()
      for (const [id, { group, weight, isWhole }] of rows.joined(own)) {
        const of = items.get(id) ?? []
        groups.set(id, {
          group: rows.group(group.row, of),
          weight: of.reduce((sum, item) => sum + item.weight, weight),
          isWhole: isWhole && of.every(({ is_whole }) => is_whole),
        })
      }
      return inOrder(rows, ids, groups, async id => {
        const [own, whole] = await Promise.all([ask<JoinedRow>(one, id), wholeItems(ask, items.get(id) ?? [])])
        const known = rows.joined(own).get(id)
        return known && { ...known, group: rows.group(known.group.row, whole) }
      })
    })
  }
  const readSingle = singly(database, read)
  return async ids => {
    const [id] = ids
    return ids.length === 1 && id !== undefined ? readSingle(id) : read(ids)
  }
}

/** Reads items on all shards. No running sum of their weights, because Citus would bring all texts to one server for that. */
function arrayReads(array: NestedArray) {
  const { table, key, columns } = array
  const placed = shardColumn(table) ?? 'id'
  const weight = cappedBytesOf(columns, 'item')
  const isWhole = `${weight} <= $4::bigint`
  const first = `
    SELECT ${columnSql('item', key, 'integer')} AS owner_id, (${weight})::float8 AS weight, ${isWhole} AS is_whole,
      ${selectedItemColumns(array, textsIf(isWhole), ITEM_PREFIX)}
    FROM ${table} AS item WHERE item.${key} = ANY ($1::bigint[]) AND item.id <= $2::bigint
    ORDER BY item.${key}, item.id LIMIT $3::bigint`
  const whole = `
    SELECT ${selectedItemColumns(array, columnSql, ITEM_PREFIX)}
    FROM ${table} AS item WHERE item.id = ANY ($1::bigint[]) AND item.${placed} = ANY ($2::bigint[])`

  /** The items that the arrays of owners may show, by the owners' ids. */
  const firstItems = async (ask: Query, ids: readonly number[], lastId: number): Promise<Map<number, ItemRow[]>> => {
    const limit = ids.length === 1 ? NESTED_MAX + 1 : (ids.length + 1) * NESTED_MAX
    const share = Math.floor(TEXTS_MAX / limit)
    const some = (of: readonly number[], limit: number) => ask<ItemRow>(first, idArray(of), lastId, limit, share)
    let found = await some(ids, limit)
    // One of them may have so many that the others got none.
    if (found.length === limit && ids.length > 1) {
      found = (await Promise.all(ids.map(id => some([id], NESTED_MAX + 1)))).flat()
    }
    const byOwner = Map.groupBy(found, ({ owner_id }) => owner_id)
    for (const [id, items] of byOwner) byOwner.set(id, shownItems(items))
    return byOwner
  }
  /** The same items with their long texts, but for those that were deleted meanwhile. */
  const wholeItems = async (ask: Query, items: readonly ItemRow[]): Promise<RawRow[]> => {
    const cut = items.filter(({ is_whole }) => !is_whole)
    if (cut.length === 0) return [...items]
    const numbers = (column: string) => idArray(cut.map(item => Number(item[ITEM_PREFIX + column])))
    const read = await ask<RawRow>(whole, numbers('id'), numbers(placed))
    const byId = new Map(read.map(item => [item[`${ITEM_PREFIX}id`], item]))
    return items.flatMap(item => (item.is_whole ? item : (byId.get(item[`${ITEM_PREFIX}id`]) ?? [])))
  }
  return { firstItems, wholeItems }
}

/** The first items of one owner that are not certainly cut. */
function shownItems(items: readonly ItemRow[]): ItemRow[] {
  let weightBefore = 0
  const heavy = items.slice(0, NESTED_MAX + 1).findIndex(({ weight }) => {
    const isCut = weightBefore > NESTED_MAX_BYTES
    weightBefore += weight
    return isCut
  })
  return items.slice(0, heavy === -1 ? NESTED_MAX + 1 : heavy)
}

/** Resources in the order of their ids, up to the weight limit, and at least one of them. */
async function inOrder<Row extends Values>(
  rows: PostgresRows<Row>,
  ids: readonly number[],
  groups: ReadonlyMap<number, WeighedGroup>,
  readOne: (id: number) => Promise<WeighedGroup | undefined>,
): Promise<Read> {
  const read = { found: [] as Read['found'][number][], isCurrent: false }
  let weight = 0
  for (const [place, id] of ids.entries()) {
    const known = groups.get(id)
    const whole = known && !known.isWhole ? await readOne(id) : known
    // Otherwise it was deleted meanwhile.
    if (whole) read.found.push(rows.found(whole.group))
    weight += known?.weight ?? 0
    if (weight > CHUNK_WEIGHT_MAX) return { ...read, count: place + 1 }
  }
  return { ...read, count: ids.length }
}

function onlyOne<Row extends Values>(rows: PostgresRows<Row>, known: WeighedGroup | undefined): Read {
  return { found: known ? [rows.found(known.group)] : [], count: 1, isCurrent: false }
}
