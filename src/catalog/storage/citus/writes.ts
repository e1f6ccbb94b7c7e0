import type { GoneRows } from '../../../database/change.ts'
import { ALONE, NO_MOVES, ONE_CONNECTION_PER_WORKER } from '../../../database/postgres/citus-locks.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { changeOf } from '../change.ts'
import { typed } from '../postgres/creation.ts'
import { columnSql, type PostgresRows, type RawRow } from '../postgres/rows.ts'
import { sumUpGone, takingTurns } from '../postgres/writes.ts'
import { NESTED_MAX, type NestedArray, type StoredResource, type TableName, type Values } from '../resource.ts'
import { isExpected, newRevision } from '../revision.ts'
import { type FlatRow, joins, selectedColumns } from '../shape.ts'
import type { Missing, Update, Writes } from '../store.ts'
import { citusCreating } from './creation.ts'
import { addDerivedRows, countedReview, countReviews, updateNotes } from './derived-rows.ts'
import type { Places } from './places.ts'
import { arrayReads } from './rows.ts'
import { readAcross, shardColumn } from './shards.ts'

/** Limit on looking for a row that other clients move at the same time. */
const LOOKS_MAX = 5

/** Parameters of an update before the values of its columns: the row's id, its place, and the new revision. */
const COLUMNS_AFTER = 3

/**
 * Writes one kind of resource on Citus. An update or delete locks the row, and writes what follows from the change.
 * It begins with the lock on moves, shared or alone. So reviews stay where they are, and nobody deletes a user, while another
 * transaction counts reviews or reads those on several shards.
 */
export function citusWrites<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  { rows, places }: { readonly rows: PostgresRows<Row>; readonly places: Places },
): Writes<Row> {
  const { name, table, columns, references, keptOnUpdate, array, index } = resource
  const shard = shardColumn(table) ?? 'id'
  const at = `id = $1::bigint AND ${shard} = $2::bigint`
  const readRow = `
    SELECT ${selectedColumns(resource, columnSql)} FROM ${table} AS owner ${joins(resource, 'JOIN')}
    WHERE owner.id = $1::bigint AND owner.${shard} = $2::bigint`
  // Creates of items go on while their owner is updated.
  const [lockToUpdate, lockToDelete] = [`${readRow} FOR NO KEY UPDATE OF owner`, `${readRow} FOR UPDATE OF owner`]
  const updated = Object.keys(columns).filter(column => !keptOnUpdate.includes(column) && column !== shard)
  const assignments = updated.map((column, place) => {
    const value = typed(`$${COLUMNS_AFTER + 1 + place}`, columns[column] ?? 'text')
    return `${column} = coalesce(${value}, ${column})`
  })
  const update = `UPDATE ${table} SET revision = $3::bigint, ${assignments.join(', ')} WHERE ${at}`
  const remove = `DELETE FROM ${table} WHERE ${at}`
  const names = Object.keys(columns)
  const values = names.map((column, place) => typed(`$${3 + place}`, columns[column] ?? 'text'))
  const itemsOf = array && arrayReads(array).itemsOf
  const removeWithItems = removal(resource, remove)
  const insert = `INSERT INTO ${table} (id, revision, ${names.join(', ')}) VALUES ($1::bigint, $2::bigint, ${values.join(', ')})`

  const begin = async (
    ask: Query,
    [id, place]: readonly [id: number, place: number],
    { lockRow, isAlone }: { readonly lockRow: string; readonly isAlone: boolean },
  ): Promise<FlatRow | null> => {
    const beginning = `SELECT ${ONE_CONNECTION_PER_WORKER}, ${isAlone ? ALONE : NO_MOVES}`
    const [, [row]] = await Promise.all([ask(beginning), ask<FlatRow>(lockRow, id, place)])
    return row ?? null
  }
  const absentReference = async (ask: Query, row: Update<Row>): Promise<Missing | null> => {
    for (const { column, table: owners, resource: missing } of references) {
      const id = row[column]
      if (keptOnUpdate.includes(column) || id === null || id === undefined) continue
      const found = await ask(`SELECT id FROM ${owners} WHERE id = $1::bigint`, id)
      if (found.length === 0) return { missing }
    }
    return null
  }
  const find = async (id: number): Promise<number | undefined> => {
    const sql = `SELECT ${shard}::float8 AS place FROM ${table} WHERE id = $1::bigint`
    const [found] = await readAcross(database, table, ask => ask<{ place: number }>(sql, id))
    return found?.place
  }
  /** Does work on a row where it is. `work` resolves to `null` if the row is not there. */
  const placed = async <Result>(
    id: number,
    work: (place: number) => Promise<Result | null>,
  ): Promise<Result | Missing> => {
    if (shard === 'id') return (await work(id)) ?? { missing: name }
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const place = (looks === 0 ? places.of(id) : undefined) ?? (await find(id))
      if (place === undefined) return { missing: name }
      const result = await work(place)
      if (result !== null) return result
    }
    throw new Error(`${table} ${id} was moved ${LOOKS_MAX} times while it was looked for`)
  }

  const oneAtATime = takingTurns()
  return {
    create: citusCreating(database, resource, row => {
      places.note(row)
      return rows.found({ row, items: [] })
    }),
    update: oneAtATime((id, row, expected) =>
      placed(id, place =>
        database.transaction(async ask => {
          const target = Number(row[shard] ?? place)
          const before = await begin(ask, [id, place], { lockRow: lockToUpdate, isAlone: target !== place })
          if (!before) return null
          const absent = await absentReference(ask, row)
          if (absent) return absent
          if (!isExpected(expected, before.revision)) return { changed: name }
          const revision = newRevision()
          const change =
            target === place
              ? ask(update, id, place, revision, ...updated.map(column => row[column] ?? null))
              : // Citus moves no row to another shard.
                Promise.all([
                  ask(remove, id, place),
                  ask(insert, id, revision, ...names.map(column => row[column] ?? before[column] ?? null)),
                ])
          const [, [after]] = await Promise.all([change, ask<FlatRow>(readRow, id, target)])
          if (!after) throw new Error(`${table} ${id} is not where it was stored`)
          const items = array && itemsOf ? await itemsOf(ask, id, await lastShown(ask, array)) : []
          await addDerivedRows(ask, {
            reviews: table === 'reviews' ? [countedReview(before, -1), countedReview(after, 1)] : [],
            notes: updateNotes(index, before, after),
            changes: [changeOf(resource, { id, before, after })],
          })
          places.note(after)
          return { done: rows.found(rows.group(after, items)) }
        }),
      ),
    ),
    delete: oneAtATime((id, expected) =>
      placed(id, place =>
        database.transaction(async ask => {
          const before = await begin(ask, [id, place], { lockRow: lockToDelete, isAlone: isSpread(table) })
          if (!before) return null
          if (!isExpected(expected, before.revision)) return { changed: name }
          const { items, gone } = await removeWithItems(ask, id, place)
          await addDerivedRows(ask, {
            reviews: table === 'reviews' ? [countedReview(before, -1)] : [],
            notes: index ? [{ part: index.table, id }] : [],
            changes: [changeOf(resource, { id, before, after: null, gone })],
          })
          return { done: rows.found(rows.group(before, items)) }
        }),
      ),
    ),
  }
}

/** The items that were deleted with their owner, or lost it. */
interface RemovedItems {
  /** Those that the array shows. */
  readonly items: RawRow[]
  /** Their number and owners, for the change log; `null` if they have no event. */
  readonly gone: GoneRows | null
}

/** Makes the function that deletes a row and, if it has an array, changes the items as a foreign key would. */
function removal<Row extends Values>(
  { table, array }: StoredResource<Row>,
  remove: string,
): (ask: Query, id: number, place: number) => Promise<RemovedItems> {
  if (!array) {
    return async (ask, id, place) => {
      await ask(remove, id, place)
      return { items: [], gone: null }
    }
  }
  const { table: rows, key, onDelete, followedOnDelete } = array
  const { itemsOf } = arrayReads(array)
  if (!isSpread(table)) {
    // The items are locked before they are read, and go with their owner.
    const lockItems = `SELECT id FROM ${rows} WHERE ${key} = $1::bigint ORDER BY id LIMIT ${NESTED_MAX + 1} FOR UPDATE`
    return async (ask, id, place) => {
      await ask(lockItems, id)
      const items = await itemsOf(ask, id, Number.MAX_SAFE_INTEGER)
      await ask(remove, id, place)
      return { items, gone: null }
    }
  }
  // Nobody can lock rows of several shards. So the owner is deleted first: from then on, foreign keys refuse new items.
  const noteItems = `
    INSERT INTO index_notes (part, id)
    SELECT 'product_values', ${shardColumn(rows)} FROM ${rows} WHERE ${key} = $1::bigint GROUP BY ${shardColumn(rows)}`
  const uncount = countReviews(`${key} = $1::bigint`, '-')
  const change = onDelete === 'cascade' ? `DELETE FROM ${rows}` : `UPDATE ${rows} SET ${key} = NULL`
  const sumUp = followedOnDelete && `${sumUpGone(followedOnDelete)} FROM ${rows} WHERE ${key} = $1::bigint`
  return async (ask, id, place) => {
    await ask(remove, id, place)
    const items = await itemsOf(ask, id, Number.MAX_SAFE_INTEGER)
    const [gone] = sumUp ? await ask<GoneRows>(sumUp, id) : []
    await Promise.all([
      ask(noteItems, id),
      ...(rows === 'reviews' ? [ask(uncount, id)] : []),
      ask(`${change} WHERE ${key} = $1::bigint`, id),
    ])
    return { items, gone: gone ?? null }
  }
}

/** Whether the items of a row are on several shards. */
function isSpread(table: TableName): boolean {
  return shardColumn(table) === null
}

/** The last id of a table whose row a statement that asks several shards may show; any, if it asks one. */
async function lastShown(ask: Query, { table, key }: NestedArray): Promise<number> {
  if (key === shardColumn(table)) return Number.MAX_SAFE_INTEGER
  const [shown] = await ask<{ id: number }>(
    'SELECT last_id::float8 AS id FROM shown_ids WHERE collection = $1::text',
    table,
  )
  return shown?.id ?? 0
}
