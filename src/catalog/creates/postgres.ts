import { Batch } from '../../database/postgres/batch.ts'
import type { PostgresDatabase } from '../../database/postgres/database.ts'

type Collection = 'categories' | 'products' | 'users' | 'reviews'

/** What a row of each collection is created from: its columns but for the id, with their types in SQL. */
const COLUMNS: Record<Collection, Readonly<Record<string, string>>> = {
  categories: { name: 'text', description: 'text' },
  products: { category_id: 'bigint', name: 'text', description: 'text', price: 'double precision' },
  users: {
    name: 'text',
    email: 'text',
    avatar: 'text',
    password_hash: 'text',
    is_active: 'bigint',
    is_admin: 'bigint',
    is_banned: 'bigint',
    is_blocked: 'bigint',
    is_deleted: 'bigint',
    is_suspended: 'bigint',
    is_verified: 'bigint',
  },
  reviews: { product_id: 'bigint', user_id: 'bigint', rating: 'smallint', comment: 'text' },
}

/** What a collection's rows refer to, and what an answer shows of it. */
interface Referring {
  /** Column → the collection that it refers to. NULL refers to nothing. */
  readonly references: Readonly<Record<string, Collection>>
  /** Further columns of the answer, in SQL, with what is joined to `numbered` for them: `held_users`, `held_products`. */
  readonly answer?: { readonly columns: string; readonly joins: string }
}

/** What became of a row. */
interface Outcome {
  readonly id: number | null
  /** The first column that refers to what is not there. */
  readonly absent_reference: string | null
}

/** Requests that one statement creates rows for. */
const IN_FLIGHT = { statementsMax: 1, inputsMax: 256 }

/** Lets nobody else create anything until the transaction ends. */
export const LOCK_ALL = 'SELECT collection FROM creation_locks ORDER BY collection FOR UPDATE'

/** Creates rows that refer to nothing, as `creatingReferring` does. Resolves to the id. */
export function creating<Row extends object>(
  database: PostgresDatabase,
  collection: Collection,
): (row: Row) => Promise<number> {
  const create = creatingReferring<Row>(database, collection, { references: {} })
  return async row => {
    const created = await create(row)
    if ('absent' in created) throw new Error('a row that refers to nothing lacks a reference')
    return created.id
  }
}

/**
 * Creates rows, those that come at the same time by one statement. Resolves to the id and the further columns of the answer,
 * or to the column whose reference is not there.
 *
 * Ids become visible in their order: the statement locks the collection's row of `creation_locks` before it draws ids, and
 * holds it until the commit. So a second statement of this node would only wait for the first; there is one at a time.
 * Rows that are referred to are locked before that, so that nobody waits for a long delete while holding the
 * collection's lock. A row whose reference is being deleted is tried again by itself, and waits there.
 */
export function creatingReferring<Row extends object, Answer extends object = object>(
  database: PostgresDatabase,
  collection: Collection,
  referring: Referring,
): (row: Row) => Promise<({ readonly id: number } & Answer) | { readonly absent: string }> {
  type Written = Outcome & Answer
  const insert = insertion(collection, referring, 'SKIP LOCKED')
  const insertWaiting = insertion(collection, referring)
  // Where no row refers to anything, the database needs two thirds of the time.
  const insertUnreferring = plainInsertion(collection)
  const references = new Set(Object.keys(referring.references))
  const refers = (row: Row) => Object.entries(row).some(([column, value]) => value !== null && references.has(column))
  const batch = new Batch<Row, Written>(
    rows => database.write<Written>(rows.some(refers) ? insert : insertUnreferring, JSON.stringify(rows)),
    IN_FLIGHT,
  )
  return async row => {
    const tried = await batch.add(row)
    const isHeldByOthers = tried.id === null && tried.absent_reference === null
    const [written] = isHeldByOthers ? await database.write<Written>(insertWaiting, JSON.stringify([row])) : [tried]
    if (!written) throw new Error('a statement that creates a row has answered nothing')
    const { id, absent_reference: absent } = written
    if (absent !== null) return { absent }
    if (id === null) throw new Error(`the database did not store a row of ${collection}, and did not say why`)
    return { ...written, id }
  }
}

/** SQL that takes rows as a JSON array, creates them, and answers for each its id, in their order. They refer to nothing. */
export function plainInsertion(collection: Collection): string {
  const { names, input } = inputOf(collection)
  return `
    WITH turn AS MATERIALIZED (
      SELECT collection FROM creation_locks WHERE collection = '${collection}' FOR UPDATE
    ),
    numbered AS MATERIALIZED (SELECT nextval('${collection}_id_seq') AS id, input.* FROM turn CROSS JOIN ${input}),
    written AS (INSERT INTO ${collection} (id, ${names}) SELECT id, ${names} FROM numbered RETURNING id)
    SELECT written.id::float8 AS id, NULL AS absent_reference
    FROM numbered LEFT JOIN written ON written.id = numbered.id
    ORDER BY numbered.place`
}

/** SQL that takes rows as a JSON array, creates them, and answers for each what became of it, in their order. */
function insertion(
  collection: Collection,
  { references, answer }: Referring,
  ifLocked: 'SKIP LOCKED' | '' = '',
): string {
  const { names, input } = inputOf(collection)
  const referred = Object.entries(references).map(([column, owners]) => {
    const held = `held_${owners}`
    const isMissing = `(input.${column} IS NOT NULL AND input.${column} NOT IN (SELECT id FROM ${held}))`
    // Deleted while it was waited for, it is gone, though the statement's snapshot still shows it.
    const isGone =
      ifLocked === '' ? isMissing : `${isMissing} AND NOT EXISTS (SELECT 1 FROM ${owners} WHERE id = input.${column})`
    return { column, owners, held, isMissing, isGone }
  })
  const holding = referred.map(
    ({ column, owners, held }) => `
    ${held} AS MATERIALIZED (
      SELECT * FROM ${owners} WHERE id = ANY (ARRAY(SELECT ${column} FROM input)) ORDER BY id FOR KEY SHARE ${ifLocked}
    ),`,
  )
  const areHeld = referred.map(({ held }) => ` AND (SELECT count(*) FROM ${held}) >= 0`)
  const isWhole = ['TRUE', ...referred.map(({ isMissing }) => `NOT ${isMissing}`)].join(' AND ')
  const absences = referred.map(({ column, isGone }) => `WHEN ${isGone} THEN '${column}'`)
  return `
    WITH input AS MATERIALIZED (SELECT * FROM ${input}),${holding.join('')}
    turn AS MATERIALIZED (
      SELECT collection FROM creation_locks WHERE collection = '${collection}'${areHeld.join('')} FOR UPDATE
    ),
    numbered AS MATERIALIZED (
      SELECT nextval('${collection}_id_seq') AS id, input.* FROM turn CROSS JOIN input WHERE ${isWhole}
    ),
    written AS (INSERT INTO ${collection} (id, ${names}) SELECT id, ${names} FROM numbered RETURNING id)
    SELECT written.id::float8 AS id,
      CASE ${['WHEN FALSE THEN NULL', ...absences].join(' ')} END AS absent_reference${answer ? `, ${answer.columns}` : ''}
    FROM input
    LEFT JOIN numbered ON numbered.place = input.place
    LEFT JOIN written ON written.id = numbered.id
    ${answer?.joins ?? ''}
    ORDER BY input.place`
}

/** The names of the columns that a row gives, and SQL that has the rows of a JSON array, with their places in it. */
function inputOf(collection: Collection): { readonly names: string; readonly input: string } {
  const columns = Object.entries(COLUMNS[collection])
  const names = columns.map(([name]) => name).join(', ')
  const types = columns.map(([name, type]) => `${name} ${type}`).join(', ')
  const rows = `json_to_recordset($1::text::json) AS (${types})`
  return { names, input: `ROWS FROM (${rows}) WITH ORDINALITY AS input (${names}, place)` }
}
