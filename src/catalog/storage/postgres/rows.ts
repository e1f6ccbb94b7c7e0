import type { ColumnType, NestedArray, StoredResource, Value, Values } from '../resource.ts'
import { NESTED_MAX, NESTED_MAX_CHARACTERS } from '../resource.ts'
import {
  type FlatRow,
  type Item,
  joins,
  longColumns,
  nestedObjects,
  representationOf,
  selectedColumns,
  selectedItemColumns,
} from '../shape.ts'
import type { Found, Read } from '../store.ts'
import { CHUNK_WEIGHT_MAX } from '../weights.ts'

export const ITEM_PREFIX = 'item.'

/** The most bytes of UTF-8 that a character takes, as JavaScript counts characters. */
const CHARACTER_MAX_BYTES = 3

/** More bytes are certainly more characters than an array shows. */
export const NESTED_MAX_BYTES = CHARACTER_MAX_BYTES * NESTED_MAX_CHARACTERS

/** A row of a resource, with the columns of an item NULL; or one of its items, `item.…`, with all others NULL. */
export type RawRow = { readonly id: number | null } & Readonly<Record<string, Value | boolean>>

/** A resource's own row, or one of its items with the resource's id as `owner_id`. */
export type OwnerOrItem = FlatRow & {
  readonly owner_id: number | null
  /** The state of the database when it was read, in a resource's own row. */
  readonly state: string | null
  /** The number of ids that were looked up, in a resource's own row; `NULL` for all of them. */
  readonly looked_up: number | null
}

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
 * SQL for the resources with the ids $1 and the items of their arrays. Returns nothing if they are too heavy together. One scan
 * of the items of all resources takes half the time, but returns nothing if one of these has very many.
 */
export function lightRows<Row extends Values>(
  resource: StoredResource<Row>,
  array: NestedArray,
  { state, scannedMax }: { readonly state: string; readonly scannedMax: number | null },
): string {
  const { table } = resource
  const { table: rows, key } = array
  const scan = `WHERE ${key} = ANY (ARRAY(SELECT id::bigint FROM owners)) ORDER BY ${key}, id LIMIT ${scannedMax}`
  const first = `SELECT * FROM ${rows} WHERE ${key} = owners.id::bigint ORDER BY id LIMIT ${NESTED_MAX + 1}`
  return `
    WITH owners AS MATERIALIZED (
      SELECT ${selectedColumns(resource, columnSql)}, ${weightOf(resource)} AS weight
      FROM ${table} AS owner ${joins(resource, 'JOIN')} WHERE owner.id = ANY ($1::bigint[])
    ), items AS MATERIALIZED (
      ${scannedMax === null ? `SELECT item.* FROM owners CROSS JOIN LATERAL (${first}) AS item` : `SELECT * FROM ${rows} ${scan}`}
    ), light AS MATERIALIZED (
      SELECT ${state} AS state, NULL::float8 AS looked_up
      FROM (SELECT count(*) AS number, coalesce(sum(${bytesOf(array.columns, 'items')}), 0) AS weight FROM items) AS all_items
      WHERE (SELECT sum(weight) FROM owners) + weight <= ${CHUNK_WEIGHT_MAX}
        ${scannedMax === null ? '' : `AND number < ${scannedMax}`}
    )
    SELECT owners.*, ${itemColumns(array)}, NULL::float8 AS owner_id, light.state, light.looked_up
    FROM light CROSS JOIN owners LEFT JOIN items AS item ON FALSE
    UNION ALL
    SELECT owners.*, ${itemColumns(array)}, item.${key}::float8, NULL, NULL
    FROM light CROSS JOIN items AS item LEFT JOIN owners ON FALSE`
}

/**
 * SQL for the resources with the ids $1 and the items of their arrays: in the order of the ids, up to the weight limit, and at
 * least one of them.
 */
export function firstRows<Row extends Values>(resource: StoredResource<Row>, state: string): string {
  const { table, array } = resource
  const items = array
    ? `items AS MATERIALIZED (
      SELECT item.*, owners.place, owners.id AS owner_id
      FROM owners CROSS JOIN LATERAL (${firstItems(array, 'owners.id::bigint')}) AS item
    ), texts AS (
      SELECT place, weight FROM owners UNION ALL SELECT place, ${bytesOf(array.columns, 'items')} FROM items
    )`
    : 'texts AS (SELECT place, weight FROM owners)'
  const shown = 'place <= (SELECT last_place FROM first)'
  const owners = (item: string, from: string) => `
    SELECT owners.*${item}, NULL::float8 AS owner_id, first.state, first.looked_up
    FROM first CROSS JOIN owners ${from} WHERE owners.${shown}`
  return `
    WITH owners AS MATERIALIZED (
      SELECT ${selectedColumns(resource, columnSql)}, ${weightOf(resource)} AS weight, wanted.place::float8 AS place
      FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (id, place)
        JOIN ${table} AS owner ON owner.id = wanted.id ${joins(resource, 'JOIN')}
    ), ${items}, first AS MATERIALIZED (
      SELECT max(place) AS last_place, CASE WHEN max(weight_so_far) > ${CHUNK_WEIGHT_MAX} THEN max(place) END AS looked_up,
        ${state} AS state
      FROM (
        SELECT place, sum(weight) AS weight, sum(sum(weight)) OVER (ORDER BY place) AS weight_so_far FROM texts GROUP BY place
      ) AS weighed WHERE weight_so_far - weight <= ${CHUNK_WEIGHT_MAX}
    )
    ${array ? owners(`, ${itemColumns(array)}`, 'LEFT JOIN items AS item ON FALSE') : owners('', '')}
    ${array ? `UNION ALL SELECT owners.*, ${itemColumns(array)}, item.owner_id, NULL, NULL FROM items AS item LEFT JOIN owners ON FALSE WHERE item.${shown}` : ''}`
}

/** A resource that is heavier is not read together with others, so that no statement holds much. */
const LIGHT_MAX = 65_536

/** A row of `severalRows` or `oneRow`: a resource with one of its items, if it has any. */
export type JoinedRow = RawRow & {
  readonly id: number
  /** Whether it has the resource's own long texts, as its first row has. */
  readonly is_first: boolean
  /** The resource's long texts with those of its items. */
  readonly weight: number
}

/** A resource in rows of one statement. */
export interface WeighedGroup {
  readonly group: Group
  readonly weight: number
  /** Whether a statement for several resources has read all of it. */
  readonly isWhole: boolean
}

/**
 * SQL for the resources with the ids $1 and the first items of their arrays, in any order. `onShard` tells where else the
 * statement looks for a row, as conditions on its table. Of a heavy resource, there is one row without long texts. Each shard of
 * Citus can do all of it alone, and is asked only if it may have one of the resources.
 */
export function severalRows<Row extends Values>(resource: StoredResource<Row>, onShard = ''): string {
  const { table, array } = resource
  if (!array) {
    const isLight = `${weightOf(resource)} <= ${LIGHT_MAX}`
    return `
      SELECT ${selectedColumns(resource, textsIf(isLight))}, TRUE AS is_first, (${weightOf(resource)})::float8 AS weight
      FROM ${table} AS owner ${joins(resource, 'JOIN')} WHERE owner.id = ANY ($1::bigint[])${onShard}`
  }
  const weight = `${weightOf(resource)} + coalesce(item.items_weight, 0)`
  const isLight = `${weight} <= ${LIGHT_MAX}`
  return `
    SELECT ${selectedColumns(resource, textsIf(`item.is_first IS NOT FALSE AND ${isLight}`))},
      item.is_first IS NOT FALSE AS is_first, (${weight})::float8 AS weight,
      ${selectedItemColumns(array, textsIf(isLight), ITEM_PREFIX)}
    FROM ${table} AS owner ${joins(resource, 'JOIN')} LEFT JOIN LATERAL (
      SELECT *, id = min(id) OVER () AS is_first, sum(${bytesOf(array.columns, array.table)}) OVER () AS items_weight
      FROM (
        SELECT * FROM ${array.table} WHERE ${array.key} = owner.id AND ${array.key} = ANY ($1::bigint[])
        ORDER BY id LIMIT ${NESTED_MAX + 1}
      ) AS ${array.table}
    ) AS item ON item.is_first OR ${isLight}
    WHERE owner.id = ANY ($1::bigint[])${onShard}`
}

/** SQL for the resource $1 and the items that its array may show. Each table is named with the id, so that Citus asks one shard. */
export function oneRow<Row extends Values>(resource: StoredResource<Row>, onShard = ''): string {
  const { table, array } = resource
  const weight = `(${weightOf(resource)})::float8 AS weight`
  if (!array) {
    return `
      SELECT ${selectedColumns(resource, columnSql)}, TRUE AS is_first, ${weight}
      FROM ${table} AS owner ${joins(resource, 'JOIN')} WHERE owner.id = $1::bigint${onShard}`
  }
  const isFirst = 'item.weight_before IS NULL'
  return `
    SELECT ${selectedColumns(resource, textsIf(isFirst))}, ${isFirst} AS is_first, ${weight}, ${itemColumns(array)}
    FROM ${table} AS owner ${joins(resource, 'JOIN')} LEFT JOIN LATERAL (${firstItems(array, '$1::bigint')}) AS item ON TRUE
    WHERE owner.id = $1::bigint${onShard}`
}

/** SQL for columns, the long texts only under a condition. */
export function textsIf(condition: string): typeof columnSql {
  return (source, column, type) => {
    const sql = columnSql(source, column, type)
    return type === 'long text' ? `CASE WHEN ${condition} THEN ${sql} END` : sql
  }
}

export function itemColumns(array: NestedArray): string {
  return selectedItemColumns(array, columnSql, ITEM_PREFIX)
}

/** SQL for the weight of a row without its array. */
function weightOf<Row extends Values>(resource: StoredResource<Row>): string {
  const nested = nestedObjects(resource).map(({ name, columns }) => bytesOf(columns, `"${name}"`))
  return [bytesOf(resource.columns, 'owner'), ...nested].join(' + ')
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
  readonly #represent: ReturnType<typeof representationOf<Row>>
  readonly #references: readonly string[]

  constructor(resource: StoredResource<Row>) {
    this.#itemOf = resource.array ? itemReader(resource.array) : () => null
    this.#represent = representationOf(resource)
    this.#references = resource.references.map(({ column }) => column)
  }

  /** The resources in rows that were read by their ids, in the order of the ids. */
  read(ids: readonly number[], rows: readonly OwnerOrItem[]): Omit<Read, 'isCurrent'> {
    const groups = new Map<number, Group>()
    let count = ids.length
    for (const row of rows) {
      if (row.owner_id !== null) continue
      groups.set(row.id, { row, items: [] })
      count = row.looked_up ?? count
    }
    for (const row of rows) {
      const item = row.owner_id === null ? null : this.#itemOf(row)
      if (item && row.owner_id !== null) groups.get(row.owner_id)?.items.push(item)
    }
    const found = ids.flatMap(id => {
      const group = groups.get(id)
      return group ? [this.found(group)] : []
    })
    return { found, count }
  }

  /** The resources in rows of `severalRows` or `oneRow`, by their ids. */
  joined(rows: readonly JoinedRow[]): Map<number, WeighedGroup> {
    const groups = new Map<number, WeighedGroup>()
    for (const row of rows) {
      if (row.is_first)
        groups.set(row.id, { group: this.group(row, []), weight: row.weight, isWhole: row.weight <= LIGHT_MAX })
    }
    for (const row of rows) {
      const item = this.#itemOf(row)
      if (item) groups.get(row.id)?.group.items.push(item)
    }
    for (const { group } of groups.values()) group.items.sort((one, other) => one.id - other.id)
    return groups
  }

  /** A resource's own row with the items in other rows. */
  group(row: RawRow, items: readonly RawRow[]): Group {
    return { row: flatRow(row), items: items.flatMap(item => this.#itemOf(item) ?? []) }
  }

  found({ row, items }: Group): Found {
    const ownerIds = this.#references.map(name => Number(row[name]))
    return { ...this.#represent(row, items), id: row.id, revision: row.revision, ownerIds }
  }
}

/** Makes the function that reads the item in a row; `null` if there is none. */
function itemReader({ columns }: NestedArray): (row: RawRow) => Item | null {
  const names = Object.keys(columns)
  return row => {
    const id = row[`${ITEM_PREFIX}id`]
    if (typeof id !== 'number') return null
    const item: { id: number; [column: string]: Value } = { id }
    for (const name of names) item[name] = columnValue(row[ITEM_PREFIX + name])
    return item
  }
}

function flatRow(row: RawRow): FlatRow {
  const values = Object.entries(row).map(([name, value]) => [name, columnValue(value)] as const)
  return { ...Object.fromEntries(values), id: row.id ?? 0, revision: Number(row.revision) }
}

function columnValue(value: Value | boolean | undefined): Value {
  return typeof value === 'boolean' ? null : (value ?? null)
}
