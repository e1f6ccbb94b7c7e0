import { DatabaseUnavailableError, WorkerLostError } from '../../../database/errors.ts'
import { NO_MOVES, ONE_CONNECTION_PER_WORKER, turn } from '../../../database/postgres/citus-locks.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { changeOf } from '../change.ts'
import type { Claim, KeyTakenError } from '../idempotency/keys.ts'
import { exceptTaken, IN_FLIGHT, inputOf, type NewRow } from '../postgres/creation.ts'
import { keepAnswers } from '../postgres/keys.ts'
import { columnSql, idArray } from '../postgres/rows.ts'
import type { Reference, ResourceName, StoredResource, Value, Values } from '../resource.ts'
import { newRevision } from '../revision.ts'
import { type FlatRow, nestedObjects, objectColumns } from '../shape.ts'
import type { Done, Found, Missing } from '../store.ts'
import { addDerivedRows, countedReview } from './derived-rows.ts'
import { shardColumn } from './shards.ts'
import { showIds } from './shown-ids.ts'
import { LostWorkers, workerOf } from './workers.ts'

/** The columns of the rows that one row references, as in its `FlatRow`. */
type Nested = Readonly<Record<string, Value>>

type Outcome = Done | Missing | KeyTakenError | DatabaseUnavailableError

/** Limit on the draws of ids for rows on workers that answer. */
const DRAWS_MAX = 100

/**
 * Creates rows on Citus, concurrent ones in one transaction. Resolves to the new resource.
 *
 * The transaction waits for its turn, draws ids, and stores the rows. It shares the lock on moves, because a delete of a user
 * would wait for its counts, and it for that user. It takes the turn first, as exports do. An INSERT of rows from JSON makes
 * Citus commit in two phases, so the answers for repeated requests, which are on the coordinator, are stored together with the
 * rows on the workers. Before the rows are acknowledged, `shown_ids` lets statements that ask several shards show them.
 *
 * Referenced rows are read first, outside the transaction. If one is deleted in between, its foreign key refuses the new row, and
 * everything is tried again.
 */
export function citusCreating<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  represent: (row: FlatRow) => Found,
): (row: Row, claim?: Claim) => Promise<Done | Missing> {
  const { table, index } = resource
  const shard = shardColumn(table)
  const workers = new LostWorkers(database)
  const readParents = parentReader(database, resource)
  const { names, input } = inputOf({ id: 'integer', revision: 'integer', ...resource.columns })
  const draw = `
    WITH turn AS MATERIALIZED (SELECT ${ONE_CONNECTION_PER_WORKER}, ${turn(table)}, ${NO_MOVES})
    SELECT nextval('${table}_id_seq')::float8 AS id FROM turn CROSS JOIN generate_series(1, $1::bigint)`
  const drawForWorkers = `WITH drawn AS MATERIALIZED (${draw}) SELECT id, ${workerOf('id')} AS worker FROM drawn`
  const insert = `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${input}`

  /** Takes the turn and draws ids, in ascending order. If the id of a row tells its worker, none for a lost one. */
  const drawIds = async (ask: Query, count: number): Promise<number[]> => {
    const isLost = workers.ids
    const ids: number[] = []
    for (let draws = 0; ids.length < count; draws += 1) {
      if (draws === DRAWS_MAX) throw new DatabaseUnavailableError('the database cannot be used: too few workers answer')
      const isPlaced = isLost.size > 0 && shard === 'id'
      const drawn = await ask<{ id: number; worker?: number }>(isPlaced ? drawForWorkers : draw, count - ids.length)
      for (const { id, worker } of drawn) if (worker === undefined || !isLost.has(worker)) ids.push(id)
    }
    return ids.sort((one, other) => one - other)
  }
  /** Stores rows that have their parents, and the answers to those that have a claim. */
  const store = async (ask: Query, inputs: ReadonlyMap<NewRow<Row>, Nested>): Promise<Map<NewRow<Row>, Found>> => {
    const drawn = await drawIds(ask, inputs.size)
    const created = [...inputs].map(([input, nested], place) => {
      const stored = { ...input.row, id: drawn[place] ?? 0, revision: newRevision() }
      return { input, stored, found: represent({ ...nested, ...stored }) }
    })
    const rows = created.map(({ stored }) => stored)
    const answers = created.flatMap(({ input: { claim }, found }) =>
      claim ? [{ ...claim, answer: found.json, revision: found.revision }] : [],
    )
    await Promise.all([
      ask(insert, JSON.stringify(rows)),
      keepAnswers(ask, answers),
      addDerivedRows(ask, {
        reviews: table === 'reviews' ? rows.map(row => countedReview(row, 1)) : [],
        notes: index ? rows.map(({ id }) => ({ part: index.table, id })) : [],
        changes: rows.map(row => changeOf(resource, { id: row.id, before: null, after: row })),
      }),
    ])
    return new Map(created.map(({ input, found }) => [input, found]))
  }

  const create = async (inputs: readonly NewRow<Row>[]): Promise<Outcome[]> => {
    const { outcomes, last } = await database.transaction(async ask => {
      const parents = await readParents(inputs.map(({ row }) => row))
      const whole = new Map<NewRow<Row>, Nested>()
      for (const [place, input] of inputs.entries()) {
        const { nested } = parents[place] ?? {}
        if (nested) whole.set(input, nested)
      }
      const created = whole.size > 0 ? await store(ask, whole) : new Map<NewRow<Row>, Found>()
      return {
        outcomes: inputs.map((input, place): Outcome => {
          const found = created.get(input)
          return found ? { done: found } : { missing: parents[place]?.missing ?? resource.name }
        }),
        last: Math.max(...[...created.values()].map(({ id }) => id)),
      }
    })
    if (Number.isFinite(last)) await showIds(database, table, last)
    return outcomes
  }

  /** Creates the rows that do not need a lost worker, and refuses the others. */
  const createWithoutLost = async (inputs: readonly NewRow<Row>[]): Promise<readonly Outcome[]> => {
    const isLost = workers.ids
    if (isLost.size === 0 || shard === null || shard === 'id') return exceptTaken(inputs, create)
    const places = [...new Set(inputs.map(({ row }) => Number(row[shard])))]
    const placed = await database.readPrimary<{ place: number; worker: number }>(
      `SELECT place::float8 AS place, ${workerOf('place')} AS worker FROM unnest($1::bigint[]) AS place`,
      idArray(places),
    )
    const lost = new Set(placed.filter(({ worker }) => isLost.has(worker)).map(({ place }) => place))
    const kept = inputs.filter(({ row }) => !lost.has(Number(row[shard])))
    const outcomes = (kept.length > 0 ? await exceptTaken(kept, create) : []).values()
    return inputs.map(({ row }) => {
      const outcome = lost.has(Number(row[shard])) ? null : outcomes.next().value
      return outcome ?? new DatabaseUnavailableError('the database cannot be used: a worker does not answer')
    })
  }

  const batch = database.batch<NewRow<Row>, Outcome>(async inputs => {
    const known = workers.ids
    try {
      return await createWithoutLost(inputs)
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError) || shard === null) throw error
      await workers.check()
      const isSame = known.symmetricDifference(workers.ids).size === 0
      // After any other failure, the rows may have been created.
      if (isSame || !(error instanceof WorkerLostError)) throw error
      return createWithoutLost(inputs)
    }
  }, IN_FLIGHT)
  return async (row, claim) => {
    const outcome = await batch.add({ row, claim })
    if (outcome instanceof Error) throw outcome
    return outcome
  }
}

/** The columns of the rows that a row references, or the first of those rows that does not exist. */
type Parents =
  | { readonly nested: Nested; readonly missing?: never }
  | { readonly missing: ResourceName; readonly nested?: never }

/** Makes the function that reads the rows which new rows reference. */
function parentReader<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
): (rows: readonly Row[]) => Promise<Parents[]> {
  const nested = nestedObjects(resource)
  const read = async (rows: readonly Row[], { column, table: owners }: Reference<keyof Row & string>) => {
    const ids = [...new Set(rows.flatMap(row => row[column] ?? []))]
    if (ids.length === 0) return new Map<Value, Nested>()
    const objects = nested.filter(({ table }) => table === owners)
    const shown = objects.flatMap(object => objectColumns(object, columnSql, 'owner'))
    const found = await database.read<Nested & { readonly id: number }>(
      `SELECT ${['owner.id::float8 AS id', ...shown].join(', ')} FROM ${owners} AS owner WHERE owner.id = ANY ($1::bigint[])`,
      idArray(ids.map(Number)),
    )
    return new Map<Value, Nested>(found.map(({ id, ...columns }) => [id, columns]))
  }
  return async rows => {
    const parents = await Promise.all(
      resource.references.map(async reference => ({ ...reference, byId: await read(rows, reference) })),
    )
    return rows.map((row): Parents => {
      const referenced = parents.filter(({ column }) => row[column] !== null)
      const absent = referenced.find(({ column, byId }) => !byId.has(row[column] ?? null))
      if (absent) return { missing: absent.resource }
      return { nested: Object.assign({}, ...referenced.map(({ column, byId }) => byId.get(row[column] ?? null))) }
    })
  }
}
