import type { Query } from '../../database/postgres/pool.ts'
import { heavyRepresentation, PIECE_WEIGHT_MAX } from './heavy.ts'
import { CHUNK_WEIGHT_MAX } from './listing.ts'
import type { ColumnType, NestedArray, StoredResource, Value, Values } from './resource.ts'
import { NESTED_MAX } from './resource.ts'
import {
  type FlatRow,
  type Item,
  joins,
  longColumns,
  nestedObjects,
  selectedColumns,
  selectedItemColumns,
  shapeOf,
} from './shape.ts'
import type { Found } from './store.ts'

const ITEM_PREFIX = 'item.'

/** A row of a resource with the columns of one item, `item.…`. Either may be NULL. */
export type RawRow = { readonly id: number | null } & Readonly<Record<string, Value | boolean>>

/** A row with its weight. The last row read may be the one that makes them too heavy. */
export type WeighedRow = FlatRow & {
  /** In bytes, for this row and all before it. */
  readonly weight: number
  /** The state of the database when it was read; set in the first row at least. */
  readonly state: string | null
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
 * SQL for the resources in `source`, one row per item of their arrays, in order, up to the weight limit. The running sum is
 * ordered by ids, so the database need not sort again.
 */
export function weighedRows<Row extends Values>(
  resource: StoredResource<Row>,
  source: string,
  state = 'NULL::text',
): string {
  const { array } = resource
  const weight = weightOf(resource)
  const items = array ? `LEFT JOIN LATERAL (${itemsOf(array, NESTED_MAX + 1)}) AS item ON TRUE` : ''
  const places = array ? ['owner.id', 'item.id'] : ['owner.id']
  return `
    SELECT *, ${state} AS state FROM (
      SELECT ${rowColumns(resource)}, ${weight} AS own_weight, ${places.map((id, place) => `${id} AS place_${place}`).join(', ')},
        (sum(${weight}) OVER (ORDER BY ${places.join(', ')} ROWS UNBOUNDED PRECEDING))::float8 AS weight
      FROM (${source}) AS owner ${joins(resource, 'JOIN')} ${items}
    ) AS weighed
    WHERE weight - own_weight <= ${CHUNK_WEIGHT_MAX} ORDER BY ${places.map((_, place) => `place_${place}`).join(', ')}`
}

function weightOf<Row extends Values>(resource: StoredResource<Row>): string {
  const { columns, array } = resource
  const long = [
    ...longColumns(columns).map(column => `owner.${column}`),
    ...nestedObjects(resource).flatMap(({ name, columns: nested }) =>
      longColumns(nested).map(column => `"${name}".${column}`),
    ),
    ...(array ? longColumns(array.columns).map(column => `item.${column}`) : []),
  ]
  return ['0', ...long.map(column => `coalesce(octet_length(${column}), 0)`)].join(' + ')
}

/** SQL for the first items of the row `owner`. */
function itemsOf({ table, key }: NestedArray, limit: number): string {
  return `SELECT * FROM ${table} WHERE ${key} = owner.id ORDER BY id LIMIT ${limit}`
}

/** Reads the item in a row; `null` if there is none. */
export function itemReader({ columns }: NestedArray): (row: RawRow) => Item | null {
  const names = Object.keys(columns)
  return row => {
    const id = row[`${ITEM_PREFIX}id`]
    if (typeof id !== 'number') return null
    const item: { id: number; [column: string]: Value } = { id }
    for (const name of names) item[name] = columnValue(row[ITEM_PREFIX + name])
    return item
  }
}

/** Turns rows into resources. */
export class PostgresRows<Row extends Values> {
  readonly #resource: StoredResource<Row>
  readonly #itemOf: (row: RawRow) => Item | null
  readonly #shape: ReturnType<typeof shapeOf<Row>>
  readonly #nestedIds: readonly string[]

  constructor(resource: StoredResource<Row>) {
    this.#resource = resource
    this.#itemOf = resource.array ? itemReader(resource.array) : () => null
    this.#shape = shapeOf(resource)
    this.#nestedIds = nestedObjects(resource).map(({ referredBy }) => referredBy)
  }

  /** Groups weighed rows by resource. `partial` is the one whose array may lack items because they were too heavy. */
  grouped(rows: readonly WeighedRow[]): {
    readonly whole: Group[]
    readonly partial: Group | null
    readonly isCut: boolean
  } {
    const whole: Group[] = []
    for (const row of rows) {
      const last = whole.at(-1)
      const group = last?.row.id === row.id ? last : { row, items: [] }
      if (group !== last) whole.push(group)
      const item = this.#itemOf(row)
      if (item) group.items.push(item)
    }
    const isCut = (rows.at(-1)?.weight ?? 0) > CHUNK_WEIGHT_MAX
    return { whole, partial: isCut && this.#resource.array ? (whole.pop() ?? null) : null, isCut }
  }

  /** A resource's own row with the items in other rows. */
  group(row: RawRow, items: readonly RawRow[]): Group {
    return { row: flatRow(row), items: items.flatMap(item => this.#itemOf(item) ?? []) }
  }

  found({ row, items }: Group): Found {
    const shown = items.slice(0, NESTED_MAX)
    const cutAfterId = items.length > NESTED_MAX ? (shown.at(-1)?.id ?? null) : null
    const nestedIds = this.#nestedIds.map(name => Number(row[name]))
    return { id: row.id, revision: row.revision, json: JSON.stringify(this.#shape(row, shown)), cutAfterId, nestedIds }
  }

  /** The resource in weighed rows that were read for it alone. `ask` reads the rest of a heavy one. */
  async one(ask: Query, rows: readonly WeighedRow[]): Promise<Found | null> {
    const { whole, partial } = this.grouped(rows)
    const { array } = this.#resource
    if (!partial || !array) return whole[0] ? this.found(whole[0]) : null
    return { ...this.found(partial), ...(await this.#heavy(ask, partial, array)) }
  }

  async #heavy(ask: Query, { row, items }: Group, array: NestedArray) {
    const { table, key } = array
    const long =
      longColumns(array.columns)
        .map(column => `octet_length(item.${column})`)
        .join(' + ') || '0'
    const ids = await ask<{ id: number }>(
      `SELECT id::float8 AS id FROM ${table} WHERE ${key} = $1::bigint ORDER BY ${table}.id LIMIT ${NESTED_MAX + 1}`,
      row.id,
    )
    const piece = `
      SELECT * FROM (
        SELECT ${selectedItemColumns(array, columnSql, ITEM_PREFIX)}, item.id AS place,
          sum(${long}) OVER (ORDER BY item.id ROWS UNBOUNDED PRECEDING) - (${long}) AS weight_before
        FROM ${table} AS item WHERE item.${key} = $1::bigint AND item.id > $2::bigint ORDER BY item.id LIMIT $3::bigint
      ) AS weighed WHERE weight_before <= ${PIECE_WEIGHT_MAX} ORDER BY place`
    return heavyRepresentation(
      {
        emptyJson: JSON.stringify(this.#shape(row, [])),
        ids: ids.slice(0, NESTED_MAX).map(({ id }) => id),
        items: items.slice(0, NESTED_MAX).map(listItemOf),
        cutAfterId: ids.length > NESTED_MAX ? (ids[NESTED_MAX - 1]?.id ?? null) : null,
      },
      async (afterId, limit) =>
        (await ask<RawRow>(piece, row.id, afterId, limit)).flatMap(next => this.#itemOf(next) ?? []).map(listItemOf),
    )
  }
}

function listItemOf(item: Item) {
  return { id: item.id, json: JSON.stringify(item) }
}

function flatRow(row: RawRow): FlatRow {
  const values = Object.entries(row).map(([name, value]) => [name, columnValue(value)] as const)
  return { ...Object.fromEntries(values), id: row.id ?? 0, revision: Number(row.revision) }
}

function columnValue(value: Value | boolean | undefined): Value {
  return typeof value === 'boolean' ? null : (value ?? null)
}
