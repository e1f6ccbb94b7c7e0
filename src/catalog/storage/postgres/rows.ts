import type { ColumnType, NestedArray, StoredResource, Value, Values } from '../resource.ts'
import { NESTED_MAX, NESTED_MAX_CHARACTERS } from '../resource.ts'
import {
  type FlatRow,
  finding,
  type Item,
  joins,
  longColumns,
  nestedObjects,
  selectedColumns,
  selectedItemColumns,
} from '../shape.ts'
import type { Found } from '../store.ts'
import { CHUNK_WEIGHT_MAX } from '../weights.ts'

export const ITEM_PREFIX = 'item.'

/** The most bytes of UTF-8 that a character takes, as JavaScript counts characters. */
const CHARACTER_MAX_BYTES = 3

/** More bytes are certainly more characters than an array shows. */
export const NESTED_MAX_BYTES = CHARACTER_MAX_BYTES * NESTED_MAX_CHARACTERS

/** A row of a resource, with the columns of an item NULL; or one of its items, `item.…`, with all others NULL. */
export type RawRow = { readonly id: number | null } & Readonly<Record<string, Value>>

/** A resource's row with the items that were read. */
export interface Group {
  readonly row: FlatRow
  readonly items: Item[]
}

/** Bun.SQL returns a bigint as text, so it is read as a double. This is exact, because all of ours are within 2^53. */
export function columnSql(source: string, column: string, type: ColumnType): string {
  return type === 'integer' ? `${source}.${column}::float8` : `${source}.${column}`
}

/** SQL for the columns of a row and one item, from `owner`, the tables of its nested objects, and `item`. */
export function rowColumns<Row extends Values>(resource: StoredResource<Row>): string {
  const own = selectedColumns(resource, columnSql)
  return resource.array ? `${own}, ${selectedItemColumns(resource.array, columnSql, ITEM_PREFIX)}` : own
}

/**
 * SQL for the items that the array of an owner may show, and one more if there are more. The database does not send heavy items
 * that are not shown. None of them counts for more than the limit, so the second one is always read.
 */
export function firstItems({ table, key, columns }: NestedArray, ownerId: string): string {
  return `
    SELECT * FROM (
      SELECT *, sum(${cappedBytesOf(columns, table)}) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS weight_before
      FROM (SELECT * FROM ${table} WHERE ${key} = ${ownerId} ORDER BY id LIMIT ${NESTED_MAX + 1}) AS ${table}
    ) AS weighed WHERE coalesce(weight_before, 0) <= ${NESTED_MAX_BYTES}`
}

/**
 * SQL for the ids $1. The planner does not see how many they are: otherwise PostgreSQL would plan a statement for a few ids
 * each time, which takes three times as long as to run it.
 */
export const IDS = '(SELECT $1::bigint[])::bigint[]'

/** Ids as one parameter. */
export function idArray(ids: readonly Value[]): string {
  return `{${ids.join(',')}}`
}

/**
 * SQL for the resources with the ids $1 and the items of their arrays. With `isScan`, the items of all are scanned at once, which
 * takes the least time if few owners have more than they show; otherwise the first items of each owner are read. Returns nothing
 * if the resources are too heavy together, or a scan has found $2 items.
 */
export function groupedRows<Row extends Values>(
  resource: StoredResource<Row>,
  array: NestedArray,
  { state, isScan }: { readonly state: string; readonly isScan: boolean },
): string {
  const { table } = resource
  const { table: rows, key } = array
  // As for `IDS`, the planner does not see the limit.
  const items = isScan
    ? `SELECT * FROM ${rows} WHERE ${key} = ANY (ARRAY(SELECT id::bigint FROM owners)) ORDER BY ${key}, id LIMIT (SELECT $2::bigint)`
    : `SELECT item.* FROM owners CROSS JOIN LATERAL (
        SELECT * FROM ${rows} WHERE ${key} = owners.id::bigint ORDER BY id LIMIT ${NESTED_MAX + 1}
      ) AS item`
  return `
    WITH owners AS MATERIALIZED (
      SELECT ${selectedColumns(resource, columnSql)}, ${weightOf(resource)} AS weight
      FROM ${table} AS owner ${joins(resource, 'JOIN')} WHERE owner.id = ANY (${IDS})
    ), items AS MATERIALIZED (${items}), light AS MATERIALIZED (
      SELECT ${state} AS state
      FROM (SELECT count(*) AS number, coalesce(sum(${bytesOf(array.columns, 'items')}), 0) AS weight FROM items) AS all_items
      WHERE (SELECT sum(weight) FROM owners) + weight <= ${CHUNK_WEIGHT_MAX}${isScan ? ' AND number < $2::bigint' : ''}
    )
    SELECT owners.*, ${itemColumns(array)}, owners.id AS owner_id, light.state
    FROM light CROSS JOIN owners LEFT JOIN items AS item ON FALSE
    UNION ALL
    SELECT owners.*, ${itemColumns(array)}, item.${key}::float8, NULL
    FROM light CROSS JOIN items AS item LEFT JOIN owners ON FALSE`
}

/** A resource that is heavier is not read together with others, so that no statement holds much. */
const LIGHT_MAX = 65_536

/** A row of `groupedRows`, `severalRows` or `oneRow`: a resource in its first row, one of its items, or both. */
export type ResourceRow = RawRow & {
  /** The resource's id, in each of its rows if it has an array. */
  readonly owner_id?: number
  /** 1 or 0: whether a statement that may leave out texts has read all of the resource. */
  readonly is_whole?: number
  /** The state of the database when it was read, in a resource's first row. */
  readonly state: string | null
  /** The resource's long texts; in `severalRows`, with those of its items. */
  readonly weight?: number
}

/** A resource in rows of one statement. */
export interface WeighedGroup extends Group {
  readonly weight: number
  /** Whether a statement for several resources has read all of it. */
  readonly isWhole: boolean
}

/** How a statement finds its resources, and what else it reads. */
interface Reading {
  /** SQL for the state of the database. */
  readonly state: string
  /** SQL for the ids $1 of `severalRows`. */
  readonly ids: string
  /** Further conditions, which tell Citus the shards of rows that their ids do not tell. */
  readonly onShard?: string
}

/**
 * SQL for the resources with the ids $1 and the first items of their arrays, in any order. Of a heavy resource, there is one row
 * without long texts. Each shard of Citus can do all of it alone, and is asked only if it may have one of the resources.
 */
export function severalRows<Row extends Values>(
  resource: StoredResource<Row>,
  { state, ids, onShard = '' }: Reading,
): string {
  const { table, array } = resource
  if (!array) {
    const isLight = `${weightOf(resource)} <= ${LIGHT_MAX}`
    return `
      SELECT ${selectedColumns(resource, textsIf(isLight))}, (${isLight})::int AS is_whole,
        (${weightOf(resource)})::float8 AS weight, ${state} AS state
      FROM ${table} AS owner ${joins(resource, 'JOIN')} WHERE owner.id = ANY (${ids})${onShard}`
  }
  const weight = `${weightOf(resource)} + coalesce(item.items_weight, 0)`
  const isLight = `${weight} <= ${LIGHT_MAX}`
  const isFirst = 'item.is_first IS NOT FALSE'
  return `
    SELECT ${selectedColumns(resource, ownIf(isFirst, isLight))}, owner.id::float8 AS owner_id,
      (${isLight})::int AS is_whole, (${weight})::float8 AS weight, CASE WHEN ${isFirst} THEN ${state} END AS state,
      ${selectedItemColumns(array, textsIf(isLight), ITEM_PREFIX)}
    FROM ${table} AS owner ${joins(resource, 'JOIN')} LEFT JOIN LATERAL (
      SELECT *, id = min(id) OVER () AS is_first, sum(${bytesOf(array.columns, array.table)}) OVER () AS items_weight
      FROM (
        SELECT * FROM ${array.table} WHERE ${array.key} = owner.id AND ${array.key} = ANY (${ids})
        ORDER BY id LIMIT ${NESTED_MAX + 1}
      ) AS ${array.table}
    ) AS item ON item.is_first OR ${isLight}
    WHERE owner.id = ANY (${ids})${onShard}`
}

/** SQL for the resource $1 and the items that its array may show. Each table is named with the id, so that Citus asks one shard. */
export function oneRow<Row extends Values>(
  resource: StoredResource<Row>,
  { state, onShard = '' }: Omit<Reading, 'ids'>,
): string {
  const { table, array } = resource
  const weight = `(${weightOf(resource)})::float8 AS weight`
  if (!array) {
    return `
      SELECT ${selectedColumns(resource, columnSql)}, ${weight}, ${state} AS state
      FROM ${table} AS owner ${joins(resource, 'JOIN')} WHERE owner.id = $1::bigint${onShard}`
  }
  const isFirst = 'item.weight_before IS NULL'
  return `
    SELECT ${selectedColumns(resource, ownIf(isFirst))}, owner.id::float8 AS owner_id, ${weight},
      CASE WHEN ${isFirst} THEN ${state} END AS state, ${itemColumns(array)}
    FROM ${table} AS owner ${joins(resource, 'JOIN')} LEFT JOIN LATERAL (${firstItems(array, '$1::bigint')}) AS item ON TRUE
    WHERE owner.id = $1::bigint${onShard}`
}

/** SQL for the columns of a resource in its first row, the long texts under a further condition. */
function ownIf(isFirst: string, isLight = 'TRUE'): typeof columnSql {
  return (source, column, type) => {
    const sql = columnSql(source, column, type)
    return `CASE WHEN ${isFirst}${type === 'long text' ? ` AND ${isLight}` : ''} THEN ${sql} END`
  }
}

/** SQL for columns, the long texts only under a condition. */
export function textsIf(condition: string): typeof columnSql {
  return (source, column, type) => {
    const sql = columnSql(source, column, type)
    return type === 'long text' ? `CASE WHEN ${condition} THEN ${sql} END` : sql
  }
}

function itemColumns(array: NestedArray): string {
  return selectedItemColumns(array, columnSql, ITEM_PREFIX)
}

/** SQL for the weight of what a resource shows of its row and of the rows that it references. */
function weightOf<Row extends Values>(resource: StoredResource<Row>): string {
  const { columns, members } = resource
  const own = members.flatMap(member => (typeof member === 'string' ? [[member, columns[member]] as const] : []))
  const nested = nestedObjects(resource).map(({ name, columns }) => bytesOf(columns, `"${name}"`))
  return [bytesOf(Object.fromEntries(own), 'owner'), ...nested].join(' + ')
}

/** SQL for the weight of long texts. */
function bytesOf(columns: Readonly<Record<string, ColumnType>>, source: string): string {
  const bytes = longColumns(columns).map(column => `coalesce(octet_length(${source}.${column}), 0)`)
  return bytes.join(' + ') || '0'
}

/** The same for an item. More than its array can show makes no difference. */
export function cappedBytesOf(columns: NestedArray['columns'], source: string): string {
  return `least(${bytesOf(columns, source)}, ${NESTED_MAX_BYTES})`
}

/** Turns rows into resources. */
export class PostgresRows<Row extends Values> {
  readonly #itemOf: (row: RawRow) => Item | null
  readonly #found: ReturnType<typeof finding<Row>>

  constructor(resource: StoredResource<Row>) {
    this.#itemOf = resource.array ? itemReader(resource.array) : () => null
    this.#found = finding(resource)
  }

  /** The resources in rows of one statement, by their ids. */
  grouped(rows: readonly ResourceRow[]): Map<number, WeighedGroup> {
    const groups = new Map<number, WeighedGroup>()
    for (const row of rows) {
      if (isFirst(row)) groups.set(row.id, { row, items: [], weight: row.weight ?? 0, isWhole: row.is_whole !== 0 })
    }
    for (const row of rows) {
      const item = this.#itemOf(row)
      if (item && row.owner_id !== undefined) groups.get(row.owner_id)?.items.push(item)
    }
    // They usually are in order, and looking for that takes far less time than sorting them.
    for (const { items } of groups.values()) {
      const isOrdered = items.every(({ id }, place) => place === 0 || id > (items[place - 1]?.id ?? 0))
      if (!isOrdered) items.sort((one, other) => one.id - other.id)
    }
    return groups
  }

  /** A resource's own row with the items in other rows. */
  group(row: FlatRow, items: readonly RawRow[]): Group {
    return { row, items: items.flatMap(item => this.#itemOf(item) ?? []) }
  }

  found({ row, items }: Group): Found {
    return this.#found(row, items)
  }
}

/** Whether a row has the resource's own columns. */
export function isFirst(row: RawRow): row is RawRow & FlatRow {
  return row.id !== null
}

/** Makes the function that reads the item in a row; `null` if there is none. */
function itemReader({ columns }: NestedArray): (row: RawRow) => Item | null {
  const names = Object.keys(columns)
  return row => {
    const id = row[`${ITEM_PREFIX}id`]
    if (typeof id !== 'number') return null
    const item: { id: number; [column: string]: Value } = { id }
    for (const name of names) item[name] = row[ITEM_PREFIX + name] ?? null
    return item
  }
}
