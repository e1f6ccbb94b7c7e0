import { LOCK_MS, type PostgresDatabase, STATEMENT_MS } from '../../database/postgres/database.ts'
import type { Parameter, Query } from '../../database/postgres/pool.ts'
import { CHUNK_MAX_CHARACTERS } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import { deleteHeavy } from './deleted.ts'
import {
  type Embedding,
  type EmbeddingRow,
  type Group,
  type Identified,
  oneOf,
  weighedRows,
  wholeOf,
} from './postgres-rows.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** The resource's own row, or that of an item, in which the resource's columns are NULL. */
type ChangedRow<Row> = Row & { readonly is_light: boolean }

/**
 * The SQL of a statement about the resource $1, and of its row and its items, unless they are heavy: `is_light` tells. A
 * statement sees the database as it was when it began, so items that go with the resource are shown.
 */
function changing<Row, Item>({ row, array }: Embedding<Row, Item, unknown>, statement: string): string {
  return `
    WITH items AS MATERIALIZED (
      SELECT ${array.object} FROM ${array.items} WHERE ${array.key} = $1::bigint ORDER BY id LIMIT ${EMBEDDED_MAX + 1}
    ), light AS MATERIALIZED (
      SELECT coalesce(sum(octet_length(${array.long})), 0) <= ${CHUNK_MAX_CHARACTERS} AS is_light FROM items
    ), changed AS (${statement} RETURNING *)
    SELECT ${row}, ${array.row}, light.is_light
    FROM light CROSS JOIN changed AS owner LEFT JOIN items AS item ON FALSE
    UNION ALL
    SELECT ${row}, ${array.row}, TRUE
    FROM light JOIN items AS item ON light.is_light LEFT JOIN changed AS owner ON FALSE`
}

/** `null` if there is no such resource; items alone are those that refer to none. */
function groupOf<Row extends EmbeddingRow, Item>(
  [first, ...items]: readonly ChangedRow<Row>[],
  { itemOf }: Embedding<Row, Item, unknown>,
): (Group<Row, Item> & { readonly isLight: boolean }) | null {
  if (!first || first.id === null) return null
  return { first, items: items.map(itemOf), isLight: first.is_light }
}

/** Changes the resource $1 by a statement, and tells what it is then; `null` if it is not there. */
export async function changed<Row extends EmbeddingRow, Item extends Identified>(
  database: PostgresDatabase,
  embedding: Embedding<Row, Item, unknown>,
  statement: string,
  ...parameters: Parameter[]
): Promise<Representation | null> {
  const rows = await database.write<ChangedRow<Row>>(changing(embedding, statement), ...parameters)
  const group = groupOf(rows, embedding)
  if (!group || group.isLight) return group && wholeOf(group, embedding)
  const ask: Query = (sql, ...values) => database.read(sql, ...values)
  const heavy = weighedRows(embedding, `SELECT * FROM ${embedding.owners} WHERE id = $1::bigint`)
  // If it is deleted at this moment, it was changed all the same.
  return (await oneOf(ask, await ask<Row>(heavy, group.first.id), embedding)) ?? wholeOf(group, embedding)
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
  const { owners, array } = embedding
  const deleteLight = changing(
    embedding,
    `DELETE FROM ${owners} WHERE id = $1::bigint AND (SELECT is_light FROM light)`,
  )
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
    const rows = await database.transaction(async ask =>
      (await lock(ask, id)) ? ask<ChangedRow<Row>>(deleteLight, id) : null,
    )
    if (rows === null) return null
    const group = groupOf(rows, embedding)
    return group ? wholeOf(group, embedding) : deleteLarge(id)
  }
}
