import { Batch } from '../../database/postgres/batch.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { Parameter } from '../../database/postgres/pool.ts'
import { CHUNK_MAX_CHARACTERS } from '../lists/listing.ts'
import type { ReadChunk } from '../lists/postgres.ts'
import { Remembered } from '../remembered.ts'
import type { Representation } from '../representation.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** A resource that shows an array of the rows that refer to it by a key. */
export interface Embedding<Row extends EmbeddingRow, Item, Resource> {
  readonly owners: string
  /** Its members but for the array, in SQL: of a JSON object, and of a row, where integers are doubles. */
  readonly object: string
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

/** What every row has: the id of the resource and, unless it has none, that of an item of its array. */
export interface EmbeddingRow {
  readonly id: number
  readonly item_id: number | null
  /** At which it was read; in the first row at least. */
  readonly state: string | null
  /** In bytes, of this row and all before it. */
  readonly weight: number
}

/** A row of a resource, without an item, or of an item, with the resource's id. */
type TogetherRow<Row> = Row & { readonly owner_id: number | null }

/**
 * The SQL of resources as representations, from what has rows of theirs: their table, or a statement that has changed
 * it. The database puts the JSON together, so that no row becomes an object on the way.
 */
export function representations(
  { object, array }: Pick<Embedding<never, never, never>, 'object' | 'array'>,
  source: string,
): string {
  return `
    SELECT
      row_to_json(shown)::text AS json,
      CASE WHEN embedded.number = ${EMBEDDED_MAX} AND EXISTS (
        SELECT 1 FROM ${array.items} WHERE ${array.key} = owner.id AND id > embedded.last
      ) THEN embedded.last::float8 END AS "cutAfterId"
    FROM ${source} AS owner
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(item), '[]') AS items, count(*) AS number, max(item.id) AS last
      FROM (${itemsOf(array, EMBEDDED_MAX)}) AS item
    ) AS embedded
    CROSS JOIN LATERAL (SELECT ${object}, embedded.items AS ${array.name}) AS shown`
}

/** How resources are read: one by its id, or a part of a list. */
export interface Reads {
  readonly find: (id: number) => Promise<Representation | null>
  readonly readChunk: ReadChunk
  readonly remembered: Remembered
}

interface FoundResource extends Representation {
  readonly id: number
}

/**
 * Reads resources as rows, which takes the database less than half the time of making JSON of them; the resource is
 * repeated in each row of its array. Where rows are heavy, fewer of them come.
 */
export function embeddingReads<Row extends EmbeddingRow, Item extends { readonly id: number }, Resource>(
  database: PostgresDatabase,
  embedding: Embedding<Row, Item, Resource>,
): Reads {
  const { owners, row, long, array, itemOf, resourceOf } = embedding
  const remembered = new Remembered(database.changes)
  const weight = `coalesce(octet_length(owner.${long}), 0) + coalesce(octet_length(item.${array.long}), 0)`
  const one = `${representations(embedding, owners)} WHERE owner.id = $1::bigint`

  const foundOf = (first: Row, items: Item[]): FoundResource => {
    const shown = items.slice(0, EMBEDDED_MAX)
    const cutAfterId = items.length > EMBEDDED_MAX ? (shown.at(-1)?.id ?? null) : null
    return { id: first.id, json: JSON.stringify(resourceOf(first, shown)), cutAfterId }
  }

  const keep = (found: FoundResource[], state: string | null) => {
    if (database.changes.saw(state)) for (const resource of found) remembered.keep(resource.id, resource)
    return found
  }

  /**
   * All resources of `source`, or those of them that come before what is too heavy. Places are ids as
   * the sum is ordered by them, so that the database need not sort again.
   */
  const read = async (source: string, parameters: Parameter[]) => {
    const rows = await database.read<Row>(
      `SELECT *, ${database.changes.state} AS state FROM (
        SELECT ${row}, ${array.row}, ${weight} AS own_weight,
          owner.id AS owner_place, item.id AS item_place,
          (sum(${weight}) OVER (ORDER BY owner.id, item.id ROWS UNBOUNDED PRECEDING))::float8 AS weight
        FROM (${source}) AS owner LEFT JOIN LATERAL (${itemsOf(array, EMBEDDED_MAX + 1)}) AS item ON TRUE
      ) AS weighed WHERE weight - own_weight <= ${CHUNK_MAX_CHARACTERS} ORDER BY owner_place, item_place`,
      ...parameters,
    )
    const groups: { readonly first: Row; readonly items: Item[] }[] = []
    for (const next of rows) {
      const last = groups.at(-1)
      const group = last?.first.id === next.id ? last : { first: next, items: [] }
      if (group !== last) groups.push(group)
      if (next.item_id !== null) group.items.push(itemOf(next))
    }
    const isCut = (rows.at(-1)?.weight ?? 0) > CHUNK_MAX_CHARACTERS
    // Of the last one, items may be missing where rows were too heavy: it is read by itself.
    const partial = isCut ? groups.pop() : undefined
    return {
      found: keep(
        groups.map(({ first, items }) => foundOf(first, items)),
        rows[0]?.state ?? null,
      ),
      partialId: partial?.first.id ?? null,
    }
  }

  /**
   * The same by one look at all items of the resources, which takes half the time. `null` where that shows nothing: there
   * is nothing, or there are too many items, or too heavy ones.
   */
  const readTogether = async (source: string, parameters: Parameter[], limit: number) => {
    const itemsMax = (limit + 1) * EMBEDDED_MAX
    // Either side's columns are NULL in the rows of the other. What decides is asked once, which costs next to nothing.
    const rows = await database.read<TogetherRow<Row>>(
      `WITH page AS MATERIALIZED (${source}), items AS MATERIALIZED (
        SELECT ${array.object}, ${array.key} AS owner_id FROM ${array.items}
        WHERE ${array.key} = ANY (ARRAY(SELECT id FROM page)) ORDER BY ${array.key}, id LIMIT ${itemsMax}
      ), light AS MATERIALIZED (
        SELECT ${database.changes.state} AS state WHERE (SELECT count(*) FROM items) < ${itemsMax}
          AND coalesce((SELECT sum(octet_length(${long})) FROM page), 0)
            + coalesce((SELECT sum(octet_length(${array.long})) FROM items), 0) <= ${CHUNK_MAX_CHARACTERS}
      )
      SELECT ${row}, ${array.row}, NULL::float8 AS owner_id, light.state
      FROM light CROSS JOIN page AS owner LEFT JOIN items AS item ON FALSE
      UNION ALL
      SELECT ${row}, ${array.row}, item.owner_id::float8, NULL
      FROM light CROSS JOIN items AS item LEFT JOIN page AS owner ON FALSE`,
      ...parameters,
    )
    if (rows.length === 0) return null
    const groups = new Map<number, { readonly first: Row; readonly items: Item[] }>()
    let state: string | null = null
    for (const next of rows) {
      if (next.owner_id !== null) continue
      groups.set(next.id, { first: next, items: [] })
      state = next.state
    }
    for (const next of rows) if (next.owner_id !== null) groups.get(next.owner_id)?.items.push(itemOf(next))
    const found = [...groups.values()].map(({ first, items }) => foundOf(first, items))
    return { found: keep(found, state), partialId: null }
  }

  const readOne = async (id: number) => (await database.read<Representation>(one, id))[0] ?? null

  const batch = new Batch<number, Representation | null>(async ids => {
    const { found, partialId } = await read(`SELECT * FROM ${owners} WHERE id = ANY ($1::text::bigint[])`, [
      `{${[...new Set(ids)].join(',')}}`,
    ])
    const byId = new Map(found.map(resource => [resource.id, resource]))
    return Promise.all(ids.map(id => byId.get(id) ?? (partialId !== null && id >= partialId ? readOne(id) : null)))
  })

  return {
    find: async id => {
      const recalled = remembered.get(id) && (await database.changes.recall(() => remembered.get(id)))
      return recalled ?? batch.add(id)
    },
    remembered,
    readChunk: async (source, parameters, limit) => {
      const { found, partialId } = (await readTogether(source, parameters, limit)) ?? (await read(source, parameters))
      const whole = found.length === 0 && partialId !== null ? await readOne(partialId) : null
      if (whole && partialId !== null) return { items: [{ id: partialId, json: whole.json }], more: true }
      return { items: found.slice(0, limit), more: partialId !== null || found.length > limit }
    },
  }
}

function itemsOf({ items, key, object }: EmbeddedArray, limit: number): string {
  return `SELECT ${object} FROM ${items} WHERE ${key} = owner.id ORDER BY id LIMIT ${limit}`
}
