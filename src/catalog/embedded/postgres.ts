import { Batch } from '../../database/postgres/batch.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { Parameter, Query } from '../../database/postgres/pool.ts'
import { CHUNK_MAX_CHARACTERS } from '../lists/listing.ts'
import type { ReadChunk } from '../lists/postgres.ts'
import { Remembered } from '../remembered.ts'
import type { Representation } from '../representation.ts'
import {
  type Embedding,
  type EmbeddingRow,
  type FoundResource,
  type Group,
  grouped,
  type Identified,
  oneOf,
  weighedRows,
  wholeOf,
} from './postgres-rows.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** A row of a resource, without an item, or of an item, with the resource's id. */
type TogetherRow<Row> = Row & { readonly owner_id: number | null }

/** How resources are read: one by its id, or a part of a list. */
export interface Reads {
  readonly find: (id: number) => Promise<Representation | null>
  readonly readChunk: ReadChunk
  readonly remembered: Remembered
}

/**
 * Reads resources as rows, which takes the database less than half the time of making JSON of them. Where rows are heavy,
 * fewer of them come.
 */
export function embeddingReads<Row extends EmbeddingRow, Item extends Identified, Resource>(
  database: PostgresDatabase,
  embedding: Embedding<Row, Item, Resource>,
): Reads {
  const { owners, row, long, array, itemOf } = embedding
  const remembered = new Remembered(database.changes)
  const ask: Query = (sql, ...parameters) => database.read(sql, ...parameters)

  const keep = (found: FoundResource[], state: string | null) => {
    if (database.changes.saw(state)) for (const resource of found) remembered.keep(resource.id, resource)
    return found
  }

  /** All resources of `source`, or those of them that come before what is too heavy. */
  const read = async (source: string, parameters: Parameter[]) => {
    const rows = await database.read<Row>(weighedRows(embedding, source, database.changes.state), ...parameters)
    const { whole, partial } = grouped(rows, embedding)
    const found = whole.map(group => wholeOf(group, embedding))
    return { found: keep(found, rows[0]?.state ?? null), partialId: partial?.first.id ?? null }
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
    const groups = new Map<number, Group<Row, Item>>()
    let state: string | null = null
    for (const next of rows) {
      if (next.owner_id !== null) continue
      groups.set(next.id, { first: next, items: [] })
      state = next.state
    }
    for (const next of rows) if (next.owner_id !== null) groups.get(next.owner_id)?.items.push(itemOf(next))
    const found = [...groups.values()].map(group => wholeOf(group, embedding))
    return { found: keep(found, state), partialId: null }
  }

  /** By itself, however heavy it is. */
  const readOne = async (id: number) => {
    const rows = await database.read<Row>(weighedRows(embedding, `SELECT * FROM ${owners} WHERE id = $1::bigint`), id)
    return oneOf(ask, rows, embedding)
  }

  const batch = new Batch<number, Representation | 'too heavy' | null>(async ids => {
    const { found, partialId } = await read(`SELECT * FROM ${owners} WHERE id = ANY ($1::text::bigint[])`, [
      `{${[...new Set(ids)].join(',')}}`,
    ])
    const byId = new Map(found.map(resource => [resource.id, resource]))
    return ids.map(id => byId.get(id) ?? (partialId !== null && id >= partialId ? 'too heavy' : null))
  })

  return {
    find: async id => {
      const recalled = remembered.get(id) && (await database.changes.recall(() => remembered.get(id)))
      const found = recalled ?? (await batch.add(id))
      return found === 'too heavy' ? readOne(id) : found
    },
    remembered,
    readChunk: async (source, parameters, limit) => {
      const { found, partialId } = (await readTogether(source, parameters, limit)) ?? (await read(source, parameters))
      const whole = found.length === 0 && partialId !== null ? await readOne(partialId) : null
      if (whole && partialId !== null) return { items: [{ ...whole, id: partialId }], more: true }
      return { items: found.slice(0, limit), more: partialId !== null || found.length > limit }
    },
  }
}
