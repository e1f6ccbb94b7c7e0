import type { Query } from '../../database/postgres/pool.ts'
import { CHUNK_MAX_CHARACTERS, type ListItem } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import { heavyRepresentation, PIECE_CHARACTERS } from './heavy.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** A resource that shows an array of the rows that refer to it by a key. */
export interface Embedding<Row, Item, Resource> {
  readonly owners: string
  /** Its members but for the array, in SQL; integers are doubles. */
  readonly row: string
  /** The column that may be long. */
  readonly long: string
  readonly array: EmbeddedArray
  readonly itemOf: (row: Row) => Item
  readonly resourceOf: (row: Row, items: Item[]) => Resource
}

interface EmbeddedArray {
  readonly name: string
  readonly items: string
  readonly key: string
  readonly object: string
  readonly row: string
  readonly long: string
}

/** Bun.SQL gives a bigint as text. As a double it is a number, and exact: ours are within what a double holds. */
const ITEM_ID = 'item.id::float8 AS item_id'

export const REVIEWS = {
  name: 'reviews',
  items: 'reviews',
  object: 'id, product_id, user_id, rating, comment',
  row: `${ITEM_ID}, item.product_id::float8, item.user_id::float8, item.rating, item.comment`,
  long: 'comment',
} as const

export const PRODUCTS = {
  name: 'products',
  items: 'products',
  object: 'id, name, description, price',
  row: `${ITEM_ID}, item.name AS item_name, item.description AS item_description, item.price`,
  long: 'description',
} as const

export interface Identified {
  readonly id: number
}

/** What every row has: the id of the resource and, unless it has none, that of an item of its array. */
export interface EmbeddingRow {
  readonly id: number
  readonly item_id: number | null
  /** At which it was read; in the first row at least. */
  readonly state: string | null
  /** In bytes, of this row and all before it. */
  readonly weight: number
}

export interface FoundResource extends Representation {
  readonly id: number
}

/** A resource's row, and those of its items that were read. */
export interface Group<Row, Item> {
  readonly first: Row
  readonly items: Item[]
}

/** Resources that were read whole, and the one after them whose array may lack items, as they were too heavy. */
export interface Groups<Row, Item> {
  readonly whole: Group<Row, Item>[]
  readonly partial: Group<Row, Item> | null
}

/**
 * The SQL of resources as rows, in which the resource is repeated for each item. Places are ids as the sum is ordered by
 * them, so that the database need not sort again. Rows end with the one that makes them too heavy.
 */
export function weighedRows(
  { row, long, array }: Pick<Embedding<never, never, never>, 'row' | 'long' | 'array'>,
  source: string,
  state = 'NULL::text',
): string {
  const weight = `coalesce(octet_length(owner.${long}), 0) + coalesce(octet_length(item.${array.long}), 0)`
  return `
    SELECT *, ${state} AS state FROM (
      SELECT ${row}, ${array.row}, ${weight} AS own_weight,
        owner.id AS owner_place, item.id AS item_place,
        (sum(${weight}) OVER (ORDER BY owner.id, item.id ROWS UNBOUNDED PRECEDING))::float8 AS weight
      FROM (${source}) AS owner LEFT JOIN LATERAL (${itemsOf(array, EMBEDDED_MAX + 1)}) AS item ON TRUE
    ) AS weighed WHERE weight - own_weight <= ${CHUNK_MAX_CHARACTERS} ORDER BY owner_place, item_place`
}

export function grouped<Row extends EmbeddingRow, Item extends Identified>(
  rows: readonly Row[],
  { itemOf }: Embedding<Row, Item, unknown>,
): Groups<Row, Item> {
  const whole: Group<Row, Item>[] = []
  for (const next of rows) {
    const last = whole.at(-1)
    const group = last?.first.id === next.id ? last : { first: next, items: [] }
    if (group !== last) whole.push(group)
    if (next.item_id !== null) group.items.push(itemOf(next))
  }
  const isCut = (rows.at(-1)?.weight ?? 0) > CHUNK_MAX_CHARACTERS
  return { whole, partial: isCut ? (whole.pop() ?? null) : null }
}

export function wholeOf<Row extends EmbeddingRow, Item extends Identified>(
  { first, items }: Group<Row, Item>,
  { resourceOf }: Embedding<Row, Item, unknown>,
): FoundResource {
  const shown = items.slice(0, EMBEDDED_MAX)
  const cutAfterId = items.length > EMBEDDED_MAX ? (shown.at(-1)?.id ?? null) : null
  return { id: first.id, json: JSON.stringify(resourceOf(first, shown)), cutAfterId }
}

/** One resource, out of rows that were read of it alone. `ask` reads what is missing of a heavy one. */
export async function oneOf<Row extends EmbeddingRow, Item extends Identified>(
  ask: Query,
  rows: readonly Row[],
  embedding: Embedding<Row, Item, unknown>,
): Promise<Representation | null> {
  const { whole, partial } = grouped(rows, embedding)
  if (!partial) return whole[0] ? wholeOf(whole[0], embedding) : null
  const { first, items } = partial
  const { array, itemOf, resourceOf } = embedding
  const ids = await ask<Identified>(
    `SELECT id::float8 AS id FROM ${array.items} WHERE ${array.key} = $1::bigint ORDER BY ${array.items}.id LIMIT ${EMBEDDED_MAX + 1}`,
    first.id,
  )
  const piece = `
    SELECT * FROM (
      SELECT ${array.row}, item.id AS place,
        sum(octet_length(item.${array.long})) OVER (ORDER BY item.id ROWS UNBOUNDED PRECEDING)
          - octet_length(item.${array.long}) AS weight_before
      FROM ${array.items} AS item WHERE item.${array.key} = $1::bigint AND item.id > $2::bigint
      ORDER BY item.id LIMIT $3::bigint
    ) AS weighed WHERE weight_before <= ${PIECE_CHARACTERS} ORDER BY place`
  return heavyRepresentation(
    {
      emptyJson: JSON.stringify(resourceOf(first, [])),
      ids: ids.slice(0, EMBEDDED_MAX).map(({ id }) => id),
      items: items.slice(0, EMBEDDED_MAX).map(listItemOf),
      cutAfterId: ids.length > EMBEDDED_MAX ? (ids[EMBEDDED_MAX - 1]?.id ?? null) : null,
    },
    async (afterId, limit) =>
      (await ask<Row>(piece, first.id, afterId, limit)).map(row => listItemOf(itemOf({ ...row, id: first.id }))),
  )
}

function listItemOf(item: Identified): ListItem {
  return { id: item.id, json: JSON.stringify(item) }
}

function itemsOf({ items, key, object }: EmbeddedArray, limit: number): string {
  return `SELECT ${object} FROM ${items} WHERE ${key} = owner.id ORDER BY id LIMIT ${limit}`
}
