import { LOCK_MS, type PostgresDatabase, STATEMENT_MS } from '../../database/postgres/database.ts'
import type { Parameter, Query } from '../../database/postgres/pool.ts'
import { CHUNK_MAX_CHARACTERS } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import { deleteHeavy } from './deleted.ts'
import {
  type Embedding,
  type EmbeddingRow,
  grouped,
  type Identified,
  itemsOf,
  oneOf,
  weighedRows,
  wholeOf,
} from './postgres-rows.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** Changes one resource by a statement that takes `parameters`, and tells what it is then; `null` if it is not there. */
export async function changed<Row extends EmbeddingRow, Item extends Identified>(
  database: PostgresDatabase,
  embedding: Embedding<Row, Item, unknown>,
  statement: string,
  ...parameters: Parameter[]
): Promise<Representation | null> {
  const rows = await database.write<Row>(
    `WITH changed AS (${statement} RETURNING *) ${weighedRows(embedding, 'SELECT * FROM changed')}`,
    ...parameters,
  )
  return oneOf((sql, ...values) => database.read(sql, ...values), rows, embedding)
}

/**
 * Makes what deletes one resource and tells what it was, with the items that went with it. A statement sees the database as it
 * was when it began, before it waited for a lock. So the resource is locked first, then the items that are shown: until the
 * commit nobody adds one to it, or changes one of those. A further statement reads them and deletes.
 */
export function deleting<Row extends EmbeddingRow, Item extends Identified>(
  database: PostgresDatabase,
  embedding: Embedding<Row, Item, unknown>,
): (id: number) => Promise<Representation | null> {
  const { owners, long, array } = embedding
  const isLight = `
    coalesce((
      SELECT sum(octet_length(owner.${long}) + octet_length(item.${array.long}))
      FROM (${itemsOf(array, EMBEDDED_MAX + 1)}) AS item
    ), 0) <= ${CHUNK_MAX_CHARACTERS}`
  const deleteLight = `
    WITH deleted AS (DELETE FROM ${owners} AS owner WHERE id = $1::bigint AND ${isLight} RETURNING *)
    ${weighedRows(embedding, 'SELECT * FROM deleted')}`
  const one = `SELECT * FROM ${owners} WHERE id = $1::bigint`
  const lockOne = `SELECT id FROM ${owners} WHERE id = $1::bigint FOR UPDATE`
  const lockItems = `
    SELECT id FROM ${array.items} WHERE ${array.key} = $1::bigint ORDER BY id LIMIT ${EMBEDDED_MAX + 1} FOR UPDATE`

  /** Resolves to false if it is not there. */
  const lock = async (ask: Query, id: number) => {
    if ((await ask(lockOne, id)).length === 0) return false
    await ask(lockItems, id)
    return true
  }

  const deleteLarge = (id: number) =>
    deleteHeavy(hold =>
      database.bulk(async ask => {
        await ask(`SET LOCAL statement_timeout = ${STATEMENT_MS}`)
        await ask(`SET LOCAL lock_timeout = ${LOCK_MS}`)
        if (!(await lock(ask, id))) return null
        const found = await oneOf(ask, await ask<Row>(weighedRows(embedding, one), id), embedding)
        const held = found && (await hold(found))
        await ask(`DELETE FROM ${owners} WHERE id = $1::bigint`, id)
        return held
      }),
    )

  return async id => {
    const rows = await database.transaction(async ask => ((await lock(ask, id)) ? ask<Row>(deleteLight, id) : null))
    if (rows === null) return null
    const [whole] = grouped(rows, embedding).whole
    return whole ? wholeOf(whole, embedding) : deleteLarge(id)
  }
}
