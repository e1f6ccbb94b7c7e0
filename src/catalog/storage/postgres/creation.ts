import { setTimeout as wait } from 'node:timers/promises'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { isDuplicate } from '../../../database/postgres/failure.ts'
import { BusyError } from '../../../limits/busy-error.ts'
import { type Claim, KeyTakenError } from '../idempotency/keys.ts'
import type { ColumnType, StoredResource, Values } from '../resource.ts'
import { type FlatRow, nestedObjects, objectColumns } from '../shape.ts'
import type { Done, Found, Missing } from '../store.ts'
import { keepAnswers } from './keys.ts'
import { loggedChanges } from './log.ts'
import { columnSql } from './rows.ts'

/** The outcome for a row, with the columns of its nested objects as in a `FlatRow`. */
type Written = Omit<FlatRow, 'id' | 'revision'> & {
  readonly id: number | null
  readonly revision: number | null
  /** The first column that references a missing row. */
  readonly absent_reference: string | null
  /** Whether others have locked a row that it references. */
  readonly is_held: boolean
}

const SQL_TYPE: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  'long text': 'text',
  integer: 'bigint',
  'small integer': 'smallint',
  number: 'double precision',
}

/** A row to create, with the claim of its request if that has an `Idempotency-Key`. */
export interface NewRow<Row> {
  readonly row: Row
  readonly claim: Claim | undefined
}

/** One statement or transaction at a time per collection, because a second one would only wait for the first. */
export const IN_FLIGHT = { statementsMax: 1, inputsMax: 256 }

/** The longest wait of a create for a row that it references and others have locked, and the longest pause between its tries. */
const HELD_MAX_MS = 1_000
const RETRY_MAX_MS = 100

/** Prevents all other creates until the transaction ends. */
export const LOCK_ALL = 'SELECT collection FROM creation_locks ORDER BY collection FOR UPDATE'

/** SQL for a parameter with the type of a column. */
export function typed(parameter: string, type: ColumnType): string {
  return `${parameter}::${SQL_TYPE[type]}`
}

/**
 * Creates rows, concurrent ones in one statement. Resolves to the new resource. If any of them has a claim, a second statement
 * of the same transaction stores the answers to those that have one.
 *
 * Ids become visible in their order, because the statement locks the collection's row of `creation_locks` before it draws
 * ids, until the commit. Referenced rows are locked before that, and no statement waits for them: those that reference a row which
 * is being deleted are tried again. A statement that waited would hold up a connection, and all rows in it that wait for others.
 */
export function creating<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  represent: (row: FlatRow) => Found,
): (row: Row, claim?: Claim) => Promise<Done | Missing> {
  const log = loggedChanges(resource, 'numbered AS changed', null)
  const insert = insertion(resource, log)
  // Takes two thirds of the CPU time.
  const insertWithoutReferences = plainInsertion(resource, log)
  const refers = (row: Row) => resource.references.some(({ column }) => row[column] !== null)
  const created = (written: Written, row: Row): Found | null =>
    written.id === null || written.revision === null
      ? null
      : represent({ ...written, ...row, id: written.id, revision: written.revision })

  const write = async (statement: string, inputs: readonly NewRow<Row>[]): Promise<readonly Written[]> => {
    const rows = JSON.stringify(inputs.map(({ row }) => row))
    if (!inputs.some(({ claim }) => claim)) return database.writeInTime<Written>(statement, rows)
    return database.transaction(async ask => {
      const written = await ask<Written>(statement, rows)
      const answers = written.flatMap((one, place) => {
        const { row, claim } = inputs[place] ?? {}
        const found = row && claim && created(one, row)
        return found ? [{ ...claim, answer: found.json, revision: found.revision }] : []
      })
      await keepAnswers(ask, answers)
      return written
    })
  }
  const writeAgain = async (statement: string, inputs: readonly NewRow<Row>[]) => {
    try {
      return await write(statement, inputs)
    } catch (error) {
      if (!isDuplicate(error, `${resource.table}_pkey`)) throw error
      await database.write(continuingIds(resource))
      return write(statement, inputs)
    }
  }
  const batch = database.batch<NewRow<Row>, Written | KeyTakenError>(inputs => {
    const statement = inputs.some(({ row }) => refers(row)) ? insert : insertWithoutReferences
    return exceptTaken(inputs, some => writeAgain(statement, some))
  }, IN_FLIGHT)
  return async (row, claim) => {
    const triedUntil = performance.now() + HELD_MAX_MS
    for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, RETRY_MAX_MS)) {
      const written = await batch.add({ row, claim })
      if (written instanceof KeyTakenError) throw written
      const absent = resource.references.find(({ column }) => column === written.absent_reference)
      if (absent) return { missing: absent.resource }
      const found = created(written, row)
      if (found) return { done: found }
      if (!written.is_held) throw new Error(`the database did not store a row of ${resource.table} and gave no reason`)
      if (performance.now() > triedUntil) throw new BusyError('A resource that this one refers to is locked')
      await wait(pauseMs)
    }
  }
}

/** Creates rows; if somebody else has taken the key of one, the others without it, and the error is its outcome. */
export async function exceptTaken<Row, Outcome>(
  inputs: readonly NewRow<Row>[],
  create: (inputs: readonly NewRow<Row>[]) => Promise<readonly Outcome[]>,
): Promise<readonly (Outcome | KeyTakenError)[]> {
  try {
    return await create(inputs)
  } catch (error) {
    const place = error instanceof KeyTakenError ? inputs.findIndex(({ claim }) => claim?.key === error.key) : -1
    if (!(error instanceof KeyTakenError) || place === -1) throw error
    const others = inputs.length > 1 ? await exceptTaken(inputs.toSpliced(place, 1), create) : []
    return others.toSpliced(place, 0, error)
  }
}

/** SQL that makes further ids higher than those which another program has chosen for its rows. */
function continuingIds<Row extends Values>({ table }: StoredResource<Row>): string {
  const highest = `(SELECT max(id) FROM ${table})`
  return `
    WITH turn AS MATERIALIZED (SELECT collection FROM creation_locks WHERE collection = '${table}' FOR UPDATE)
    SELECT setval('${table}_id_seq', ${highest}) FROM turn WHERE ${highest} >= (SELECT last_value FROM ${table}_id_seq)`
}

/** SQL that creates rows without references from a JSON array, and returns their ids in the same order. */
function plainInsertion<Row extends Values>(resource: StoredResource<Row>, log: string): string {
  const { table } = resource
  const { names, input } = inputOf(resource.columns)
  return `
    WITH turn AS MATERIALIZED (
      SELECT collection FROM creation_locks WHERE collection = '${table}' FOR UPDATE
    ),
    numbered AS MATERIALIZED (SELECT nextval('${table}_id_seq') AS id, input.* FROM turn CROSS JOIN ${input}),
    written AS (INSERT INTO ${table} (id, ${names}) SELECT id, ${names} FROM numbered RETURNING id, revision)${log}
    SELECT written.id::float8 AS id, written.revision::float8 AS revision, NULL AS absent_reference, FALSE AS is_held
    FROM numbered LEFT JOIN written ON written.id = numbered.id
    ORDER BY numbered.place`
}

/** SQL that creates rows from a JSON array, and returns the outcome for each, in the same order. */
function insertion<Row extends Values>(resource: StoredResource<Row>, log: string): string {
  const { table, references } = resource
  const { names, input } = inputOf(resource.columns)
  const referred = references.map(({ column, table: owners }) => {
    const held = `held_${owners}`
    const isMissing = `(input.${column} IS NOT NULL AND input.${column} NOT IN (SELECT id FROM ${held}))`
    const isGone = `${isMissing} AND NOT EXISTS (SELECT 1 FROM ${owners} WHERE id = input.${column})`
    return { column, owners, held, isMissing, isGone }
  })
  const holding = referred.map(
    ({ column, owners, held }) => `
    ${held} AS MATERIALIZED (
      SELECT * FROM ${owners} WHERE id = ANY (ARRAY(SELECT ${column} FROM input)) ORDER BY id FOR KEY SHARE SKIP LOCKED
    ),`,
  )
  // Always true. A common table expression runs when it is first read, so this locks the parents before the collection.
  const areHeld = referred.map(({ held }) => ` AND (SELECT count(*) FROM ${held}) >= 0`)
  const isWhole = ['TRUE', ...referred.map(({ isMissing }) => `NOT ${isMissing}`)].join(' AND ')
  const absences = referred.map(({ column, isGone }) => `WHEN ${isGone} THEN '${column}'`)
  const nested = nestedObjects(resource)
  const shown = nested.flatMap(object => objectColumns(object, columnSql)).map(sql => `, ${sql}`)
  const joined = nested.map(
    ({ name, table: owners, referredBy }) =>
      `LEFT JOIN held_${owners} AS "${name}" ON "${name}".id = numbered.${referredBy}`,
  )
  return `
    WITH input AS MATERIALIZED (SELECT * FROM ${input}),${holding.join('')}
    turn AS MATERIALIZED (
      SELECT collection FROM creation_locks WHERE collection = '${table}'${areHeld.join('')} FOR UPDATE
    ),
    numbered AS MATERIALIZED (
      SELECT nextval('${table}_id_seq') AS id, input.* FROM turn CROSS JOIN input WHERE ${isWhole}
    ),
    written AS (INSERT INTO ${table} (id, ${names}) SELECT id, ${names} FROM numbered RETURNING id, revision)${log}
    SELECT written.id::float8 AS id, written.revision::float8 AS revision, CASE ${['WHEN FALSE THEN NULL', ...absences].join(' ')} END AS absent_reference,
      numbered.id IS NULL AS is_held${shown.join('')}
    FROM input
    LEFT JOIN numbered ON numbered.place = input.place
    LEFT JOIN written ON written.id = numbered.id
    ${joined.join(' ')}
    ORDER BY input.place`
}

/** The names of the columns, and SQL for the rows of a JSON array, numbered by `place`. */
export function inputOf(columns: Readonly<Record<string, ColumnType>>): { names: string; input: string } {
  const names = Object.keys(columns).join(', ')
  const types = Object.entries(columns).map(([name, type]) => typed(name, type).replace('::', ' '))
  const rows = `json_to_recordset($1::text::json) AS (${types.join(', ')})`
  return { names, input: `ROWS FROM (${rows}) WITH ORDINALITY AS input (${names}, place)` }
}
