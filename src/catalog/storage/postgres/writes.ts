import { eventCount, type GoneRows } from '../../../database/change.ts'
import { DatabaseUnavailableError } from '../../../database/errors.ts'
import { LOG_CHANGES, LOG_NO_CHANGES } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { BusyError } from '../../../limits/busy-error.ts'
import { changeOf, GONE_IDS_MAX } from '../change.ts'
import { NESTED_MAX, type NestedArray, type StoredResource, type Values } from '../resource.ts'
import { isExpected, REVISION_BITS } from '../revision.ts'
import { type FlatRow, joins } from '../shape.ts'
import type { ResourceTable } from '../store.ts'
import { typed } from './creation.ts'
import { loggedChanges } from './log.ts'
import {
  columnSql,
  firstItems,
  type Group,
  idArray,
  isFirst,
  type PostgresRows,
  type RawRow,
  rowColumns,
} from './rows.ts'

/** Limit on a write's wait for those before it. */
const TURN_MS = 5_000

/** Updates and deletes one kind of resource. */
export function postgresWrites<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  rows: PostgresRows<Row>,
): Pick<ResourceTable<Row>, 'update' | 'delete'> {
  const { name, columns, references, keptOnUpdate } = resource
  const updated = Object.keys(columns).filter(column => !keptOnUpdate.includes(column))
  const referred = references.filter(({ column }) => updated.includes(column))
  const update = updating(resource, updated, referred)
  const oneAtATime = takingTurns()
  const one = `SELECT id FROM ${resource.table} WHERE id = $1::bigint`

  return {
    update: oneAtATime(async (id, row, expected) => {
      const values = updated.map(column => row[column] ?? null)
      const changed = await database.writeInTime<RawRow>(update, id, ...values, expected && idArray(expected))
      const absent = referred.find((_, place) => changed[0]?.[`there_${place}`] === 0)
      if (absent) return { missing: absent.resource }
      const group = groupOf(changed, rows)
      if (group) return { done: rows.found(group) }
      const isChanged = expected !== null && (await database.read(one, id)).length > 0
      return isChanged ? { changed: name } : { missing: name }
    }),
    delete: oneAtATime(deleting(database, resource, rows)),
  }
}

/**
 * Lets one write of each resource run at a time. A second one would only wait for the row, and everything else behind it on its
 * connection: if somebody else has locked the row, a few of them would hold up all connections.
 */
export function takingTurns() {
  /** For each resource that is being written, by its id: the writes that wait for it. */
  const waiting = new Map<number, PromiseWithResolvers<void>[]>()
  return <Rest extends readonly unknown[], Result>(write: (id: number, ...rest: Rest) => Promise<Result>) =>
    async (id: number, ...rest: Rest): Promise<Result> => {
      const since = performance.now()
      const others = waiting.get(id) ?? []
      if (waiting.has(id)) {
        const turn = Promise.withResolvers<void>()
        others.push(turn)
        await turn.promise
      } else waiting.set(id, others)
      try {
        if (performance.now() - since > TURN_MS) throw new BusyError('Too many writes of this resource are waiting')
        return await write(id, ...rest)
      } catch (error) {
        // The others would wait just as long and fail too.
        if (error instanceof DatabaseUnavailableError) for (const { reject } of others.splice(0)) reject(error)
        throw error
      } finally {
        const next = others.shift()
        if (next) next.resolve()
        else waiting.delete(id)
      }
    }
}

/**
 * Deletes a resource and returns it with the items that were deleted with it. A statement sees the database as it was when
 * the statement began, before it waited for a lock. So the resource is locked first, then the items that are shown; until the
 * commit, nobody can add an item or change one of those. Another statement then reads them and deletes the resource. The last
 * one logs the change, because only then the transaction holds the locks of all that was deleted.
 */
function deleting<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  rows: PostgresRows<Row>,
): ResourceTable<Row>['delete'] {
  const { name, table, columns, array, references, followed } = resource
  const deleteOne = changing(resource, `DELETE FROM ${table} WHERE id = $1::bigint RETURNING *`, '')
  const told = [...new Set([...references.map(({ column }) => column), ...followed])]
  const known = ['id', 'revision', ...told].map(column => columnSql(table, column, columns[column] ?? 'integer'))
  const lockOne = `SELECT ${known.join(', ')} FROM ${table} WHERE id = $1::bigint FOR UPDATE`
  const lockItems = array && itemLocks(array)

  return (id, expected) =>
    database.transaction(async ask => {
      const [before] = await ask<FlatRow>(lockOne, id)
      if (!before) return { missing: name }
      if (!isExpected(expected, before.revision)) {
        // It has locked a row, and is a transaction to be accounted for.
        await ask(LOG_NO_CHANGES)
        return { changed: name }
      }
      const [items] = lockItems ? await ask<Partial<GoneRows>>(lockItems, id) : []
      const gone = items?.count === undefined ? null : { count: items.count, of: items.of ?? null }
      const changes = [changeOf(resource, { id, before, after: null, gone })]
      const [deleted] = await Promise.all([
        ask<RawRow>(deleteOne, id),
        ask(LOG_CHANGES, JSON.stringify(changes), eventCount(changes)),
      ])
      const group = groupOf(deleted, rows)
      return group ? { done: rows.found(group) } : { missing: name }
    })
}

/** SQL that locks the items of the owner $1 which are shown; if followers are told of them, all, and sums them up. */
function itemLocks({ table, key, followedOnDelete }: NestedArray): string {
  const items = (column: string) => `SELECT ${column} FROM ${table} WHERE ${key} = $1::bigint ORDER BY id`
  if (followedOnDelete === null) return `${items('id')} LIMIT ${NESTED_MAX + 1} FOR UPDATE`
  return `WITH locked AS MATERIALIZED (${items(followedOnDelete)} FOR UPDATE) ${sumUpGone(followedOnDelete)} FROM locked`
}

/** SQL for the `GoneRows` of rows with a column of ids. */
export function sumUpGone(column: string): string {
  return `
    SELECT count(*)::float8 AS count,
      CASE WHEN count(DISTINCT ${column}) <= ${GONE_IDS_MAX} THEN json_agg(DISTINCT ${column} ORDER BY ${column}) END AS of`
}

/**
 * SQL that updates the resource $1 if the last parameter contains its revision. It locks the row first, because another write
 * may change the references before this one has the lock, and the log needs the references from right before. Returns one row
 * if a new reference does not exist, none if the resource does not exist.
 */
function updating<Row extends Values>(
  resource: StoredResource<Row>,
  updated: readonly string[],
  referred: StoredResource<Row>['references'],
): string {
  const { table, columns } = resource
  const parameterOf = (column: string) => typed(`$${updated.indexOf(column) + 2}`, columns[column] ?? 'text')
  const assignments = updated.map(column => `${column} = coalesce(${parameterOf(column)}, owner.${column})`)
  const change = `UPDATE ${table} AS owner SET ${assignments.join(', ')}, revision = floor(random() * ${2 ** REVISION_BITS})`
  const expected = `$${updated.length + 2}::text::bigint[]`
  const isExpected = `(${expected} IS NULL OR revision = ANY (${expected}))`
  if (referred.length === 0) {
    const log = loggedChanges(resource, 'changed', 'changed')
    return changing(resource, `${change} WHERE id = $1::bigint AND ${isExpected} RETURNING owner.*`, log)
  }
  const there = referred.map(({ column, table: owners }, place) => {
    const id = parameterOf(column)
    return `(${id} IS NULL OR EXISTS (SELECT 1 FROM ${owners} WHERE id = ${id}))::int AS there_${place}`
  })
  const areThere = referred.map((_, place) => ` AND there_${place} = 1`).join('')
  return `
    WITH referred AS MATERIALIZED (SELECT ${there.join(', ')}), before AS MATERIALIZED (
      SELECT locked.* FROM ${table} AS locked CROSS JOIN referred WHERE id = $1::bigint${areThere} AND ${isExpected}
      FOR NO KEY UPDATE OF locked
    ), changed AS (
      ${change} FROM before WHERE owner.id = before.id RETURNING owner.*
    )${loggedChanges(resource, 'changed CROSS JOIN before', 'before')}
    SELECT referred.*, answer.*
    FROM ${table} AS existing CROSS JOIN referred
    LEFT JOIN (SELECT ${rowColumns(resource)} FROM changed AS owner ${joins(resource, 'JOIN')}) AS answer ON TRUE
    WHERE existing.id = $1::bigint`
}

/**
 * SQL for a statement on the resource $1 that returns its row and the first items. The items are those before the statement, so
 * they include those that are deleted with the resource.
 */
function changing<Row extends Values>(resource: StoredResource<Row>, statement: string, log: string): string {
  const { array } = resource
  const row = rowColumns(resource)
  if (!array)
    return `WITH changed AS (${statement})${log} SELECT ${row} FROM changed AS owner ${joins(resource, 'JOIN')}`
  return `
    WITH items AS MATERIALIZED (${firstItems(array, '$1::bigint')}), changed AS (${statement})${log}
    SELECT ${row} FROM changed AS owner LEFT JOIN items AS item ON FALSE
    UNION ALL
    SELECT ${row} FROM items AS item LEFT JOIN changed AS owner ON FALSE`
}

/** `null` if there is no such resource, even if there are items. */
function groupOf<Row extends Values>(changed: readonly RawRow[], rows: PostgresRows<Row>): Group | null {
  const [first, ...others] = changed
  return first && isFirst(first) ? rows.group(first, others) : null
}
