import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { inOrder, oneOrSeveral, type ReadIds, singly } from '../postgres/reads.ts'
import {
  cappedBytesOf,
  columnSql,
  ITEM_PREFIX,
  idArray,
  NESTED_MAX_BYTES,
  oneRow,
  PostgresRows,
  type RawRow,
  type ResourceRow,
  severalRows,
  textsIf,
  type WeighedGroup,
} from '../postgres/rows.ts'
import { NESTED_MAX, type NestedArray, type StoredResource, type Values } from '../resource.ts'
import { nestedObjects, selectedItemColumns } from '../shape.ts'
import type { Places } from './places.ts'
import { readAcross, shardColumn } from './shards.ts'
import { shownIds } from './shown-ids.ts'

/** Makes the function that reads resources by their ids. */
export function rowReader<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  places: Places,
): ReadIds {
  if (places.column !== null) return placedReader(database, resource, places, places.column)
  const { table, array } = resource
  return array && shardColumn(table) === null
    ? ownersReader(database, resource, array)
    : plainReader(database, resource)
}

/** There is no cache, so what a statement reads need not tell its state. */
const STATE = 'NULL::text'

/** Without a subquery, Citus knows which shards to ask. */
const SEVERAL = { state: STATE, ids: '$1::bigint[]' }

/** For rows whose ids tell their shards, and for those of a reference table without anything of other tables. */
function plainReader<Row extends Values>(database: PostgresDatabase, resource: StoredResource<Row>): ReadIds {
  const { table } = resource
  const isSharded = shardColumn(table) !== null
  const rows = new PostgresRows(resource)
  const [one, several] = [oneRow(resource, { state: STATE }), severalRows(resource, SEVERAL)]
  const readOne = async (id: number) =>
    rows.grouped(
      await (isSharded ? database.readShard<ResourceRow>(table, one, id) : database.read<ResourceRow>(one, id)),
    )
  return oneOrSeveral(
    async id => inOrder(rows, [id], await readOne(id), readOne),
    async ids => {
      const read = isSharded
        ? await readAcross(database, table, ask => ask<ResourceRow>(several, idArray(ids)))
        : await database.read<ResourceRow>(several, idArray(ids))
      return inOrder(rows, ids, rows.grouped(read), readOne)
    },
  )
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
  const on = (places: string) => placed.map(name => ` AND ${name} = ${places}`).join('')
  const one = oneRow(resource, { state: STATE, onShard: on('$2::bigint') })
  const several = severalRows(resource, { ...SEVERAL, onShard: on('ANY ($2::bigint[])') })
  const find = `SELECT id::float8 AS id, ${columnSql(resource.table, column, 'integer')} AS ${column}
    FROM ${resource.table} WHERE id = ANY ($1::bigint[])`

  const readAt = async (ask: Query, ids: readonly number[]): Promise<readonly ResourceRow[]> => {
    const known = [...new Set(ids.flatMap(id => places.of(id) ?? []))]
    return known.length === 0 ? [] : ask<ResourceRow>(several, idArray(ids), idArray(known))
  }
  const readOne = async (ask: Query, id: number) => {
    const place = places.of(id)
    return rows.grouped(place === undefined ? [] : await ask<ResourceRow>(one, id, place))
  }
  const read: ReadIds = ids =>
    readAcross(database, resource.table, async ask => {
      const guessed = await readAt(ask, ids)
      const there = new Set(guessed.map(({ id }) => id))
      const others = ids.filter(id => !there.has(id))
      // By their ids alone: a join on all shards takes five times as long.
      const found = others.length === 0 ? [] : await ask<{ id: number }>(find, idArray(others))
      for (const row of found) places.note(row)
      const foundIds = found.map(({ id }) => id)
      return inOrder(rows, ids, rows.grouped([...guessed, ...(await readAt(ask, foundIds))]), id => readOne(ask, id))
    })
  const search = singly(database, read)
  const ask: Query = (sql, ...parameters) => database.readShard(resource.table, sql, ...parameters)

  return oneOrSeveral(async id => {
    const guessed = await readOne(ask, id)
    return guessed.size > 0 ? inOrder(rows, [id], guessed, () => readOne(ask, id)) : search(id)
  }, read)
}

/** Limit on the texts of the items that one statement reads. Longer ones than their share are read by another one. */
const TEXTS_MAX = 16_777_216

/** An item of an array, without its long texts if these are too long. */
type ItemRow = RawRow & {
  readonly owner_id: number
  readonly weight: number
  /** 1 or 0. */
  readonly is_whole: number
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
  const [one, several] = [oneRow(alone, { state: STATE }), severalRows(alone, SEVERAL)]
  const shown = shownIds(database, array.table)
  const { firstItems, wholeItems } = arrayReads(array)

  const read: ReadIds = async ids => {
    // Before the items are read: all of them up to this id are committed.
    const lastId = await shown()
    return readAcross(database, array.table, async ask => {
      const [own, items] = await Promise.all([ask<ResourceRow>(several, idArray(ids)), firstItems(ask, ids, lastId)])
      const withItems = new Map<number, WeighedGroup>()
      for (const [id, { row, weight, isWhole }] of rows.grouped(own)) {
        const of = items.get(id) ?? []
        withItems.set(id, {
          ...rows.group(row, of),
          weight: of.reduce((sum, item) => sum + item.weight, weight),
          isWhole: isWhole && of.every(({ is_whole }) => is_whole === 1),
        })
      }
      return inOrder(rows, ids, withItems, async id => {
        const [own, whole] = await Promise.all([ask<ResourceRow>(one, id), wholeItems(ask, items.get(id) ?? [])])
        const known = rows.grouped(own).get(id)
        return new Map(known && [[id, { ...known, ...rows.group(known.row, whole) }]])
      })
    })
  }
  return oneOrSeveral(singly(database, read), read)
}

/**
 * Reads the items of owners, on all shards unless the owner tells theirs. No running sum of their weights, because Citus would
 * bring all texts to one server for that.
 */
export function arrayReads(array: NestedArray) {
  const { table, key, columns } = array
  const placed = shardColumn(table) ?? 'id'
  const weight = cappedBytesOf(columns, 'item')
  const isWhole = `${weight} <= $4::bigint`
  const first = `
    SELECT ${columnSql('item', key, 'integer')} AS owner_id, (${weight})::float8 AS weight, (${isWhole})::int AS is_whole,
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
    const cut = items.filter(({ is_whole }) => is_whole === 0)
    if (cut.length === 0) return [...items]
    const numbers = (column: string) => idArray(cut.map(item => Number(item[ITEM_PREFIX + column])))
    const read = await ask<RawRow>(whole, numbers('id'), numbers(placed))
    const byId = new Map(read.map(item => [item[`${ITEM_PREFIX}id`], item]))
    return items.flatMap(item => (item.is_whole === 1 ? item : (byId.get(item[`${ITEM_PREFIX}id`]) ?? [])))
  }
  /** The items that the array of one owner may show, with ids up to `lastId`, and one more if there are more. */
  const itemsOf = async (ask: Query, id: number, lastId: number): Promise<RawRow[]> =>
    wholeItems(ask, (await firstItems(ask, [id], lastId)).get(id) ?? [])
  return { firstItems, wholeItems, itemsOf }
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
