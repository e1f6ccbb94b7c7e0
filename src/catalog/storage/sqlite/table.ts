import { setImmediate as turn } from 'node:timers/promises'
import type { GoneRows } from '../../../database/change.ts'
import type { Parameter } from '../../../database/sqlite/connection.ts'
import type { SqliteDatabase, SqliteTransaction } from '../../../database/sqlite/database.ts'
import { changeOf, Gone } from '../change.ts'
import { type ListQuery, looksAtValues } from '../query.ts'
import { listSql, type PlacedRow, pageOfRows } from '../query-sql.ts'
import type { NestedArray, Reference, StoredResource, Value, Values } from '../resource.ts'
import { type ExpectedRevisions, isExpected, newRevision } from '../revision.ts'
import { type FlatRow, nestedObjects, objectColumns } from '../shape.ts'
import type { Changed, Done, Missing, ResourceTable, Update } from '../store.ts'
import type { SqliteKeys } from './keys.ts'
import { countBeside, indexedBy, listStatements, pageBeside, SQLITE_PARAMETERS } from './lists.ts'
import { column, sqliteReader } from './reader.ts'
import { rowReads } from './reads.ts'

/** Number of an array's rows deleted in one turn of the event loop. */
const REMOVED_AT_ONCE = 50

/** A list that passes over this many rows is read on the thread for long reads: a million of them take 6 ms. */
const PASSED_OVER_MANY = 100_000
/** A list with no more rows than this needs no thread, whatever is skipped: some ask for a whole list by a limit of a million. */
const SHORT_MAX = 10_000

/** Reads and writes one kind of resource, with statements that are prepared once. Each call sees one snapshot. */
export function sqliteTable<Row extends Values>(
  database: SqliteDatabase,
  resource: StoredResource<Row>,
  keys: SqliteKeys,
): ResourceTable<Row> {
  const { name, table, references } = resource
  const reader = sqliteReader(database, resource)
  const { represent, representNew } = reader
  const pageOf = listStatements<Row, PlacedRow>(
    database,
    resource,
    // The list of everything has an index of ids alone, to pass over many.
    (list, index, { where }) =>
      `SELECT owner.id FROM ${table} AS owner ${indexedBy(where.length === 0 ? `${table}_by_id` : index)}
      WHERE ${list.where} ORDER BY ${list.orderBy} LIMIT ? OFFSET ?`,
  )
  const { all } = database.beside
  const deepPage = async (query: ListQuery<Row>) => {
    const long = await database.snapshot(() => {
      const { sql, statement, parameters } = pageOf(query)
      return statement.get(...parameters, 1, SHORT_MAX) ? { sql, parameters } : null
    })
    const rows = long && (await all<PlacedRow>(long.sql, [...long.parameters, query.limit + 1, query.from.skip]))
    return pageOfRows(query, rows ?? [])
  }
  const rowsSql = (query: ListQuery<Row>) => {
    const { where, orderBy, parameters } = listSql(resource, query, SQLITE_PARAMETERS)
    return { sql: `FROM ${table} AS owner WHERE ${where}`, orderBy, parameters }
  }
  const parents = references.map(reference => ({
    ...reference,
    select: database.prepare<[id: number], FlatRow>(selectParent(resource, reference)),
  }))
  const columns = Object.keys(resource.columns)
  const insert = database.prepare<Parameter[]>(
    `INSERT INTO ${table} (${columns.join(', ')}, revision) VALUES (${columns.map(() => '?').join(', ')}, ?)`,
  )
  const changed = columns.filter(column => !resource.keptOnUpdate.includes(column))
  const change = database.prepare<Parameter[]>(
    `UPDATE ${table} SET ${changed.map(column => `${column} = coalesce(?, ${column})`).join(', ')}, revision = ? WHERE id = ?`,
  )
  const remove = database.prepare<[id: number]>(`DELETE FROM ${table} WHERE id = ?`)

  const goneWith = goneRows(database, resource.array)

  /** The values that a row shows of the rows it references; or the first of those rows that does not exist. */
  const shownParents = (values: Update<Row>): Missing | { readonly shown: Values } => {
    const shown: Record<string, Value> = {}
    for (const { column, resource: parent, select } of parents) {
      const id = values[column]
      if (typeof id !== 'number') continue
      const found = select.get(id)
      if (!found) return { missing: parent }
      Object.assign(shown, found)
    }
    return { shown }
  }

  return {
    reads: some => rowReads(database, some),
    page: query => {
      if (looksAtValues(query)) return pageBeside(all, resource, query, rowsSql(query))
      if (query.from.skip >= PASSED_OVER_MANY) return deepPage(query)
      // An index leads to the rows in their order, so that this takes no longer than to read them.
      return database.snapshot(() => {
        const { statement, parameters } = pageOf(query)
        return pageOfRows(query, statement.all(...parameters, query.limit + 1, query.from.skip))
      })
    },
    count: (query, most) => countBeside(all, rowsSql(query), most),
    canScan: async () => {},
    // The representation is made of the written values, which takes half the time of reading them back.
    create: (row, claim) =>
      database.write(changes => {
        const owners = shownParents(row)
        if ('missing' in owners) return owners
        const revision = newRevision()
        const id = Number(insert.run(...columns.map(column => row[column] ?? null), revision).lastInsertRowid)
        changes.push(changeOf(resource, { id, before: null, after: row }))
        const created = representNew({ ...owners.shown, ...row, id, revision })
        if (claim) keys.keep(claim, created.json, revision)
        return { done: created }
      }),
    update: (id, row, expected) =>
      database.write(changes => {
        const before = reader.row(id)
        if (!before) return { missing: name }
        const owners = shownParents(row)
        if ('missing' in owners) return owners
        if (!isExpected(expected, before.revision)) return { changed: name }
        const revision = newRevision()
        change.run(...changed.map(column => row[column] ?? null), revision, id)
        const after: Record<string, Value> & { id: number; revision: number } = {
          ...before,
          ...owners.shown,
          id,
          revision,
        }
        for (const column of changed) after[column] = row[column] ?? after[column] ?? null
        changes.push(changeOf(resource, { id, before, after }))
        return { done: represent(after) }
      }),
    delete: (id, expected) => {
      // A long array is deleted in many turns of the event loop.
      const isLong = database.look(() => (reader.find(id)?.cut ?? null) !== null, 'write')
      if (isLong) return deleteLong(database, resource, id, expected)
      return database.write(changes => {
        const before = reader.row(id)
        if (!before) return { missing: name }
        if (!isExpected(expected, before.revision)) return { changed: name }
        const found = represent(before)
        changes.push(changeOf(resource, { id, before, after: null, gone: goneWith(id) }))
        remove.run(id)
        return { done: found }
      })
    },
  }
}

/** Makes the function that reads what followers are told of the rows which are deleted with their owner. */
function goneRows(source: SqliteTransaction, array: NestedArray | null): (ownerId: number) => GoneRows | null {
  if (!array?.followedOnDelete) return () => null
  const { table, index, key, followedOnDelete } = array
  const select = source.prepare<[id: number], { id: number }>(
    `SELECT ${followedOnDelete} AS id FROM ${table} INDEXED BY ${index} WHERE ${key} = ?`,
  )
  return ownerId => {
    const gone = new Gone()
    for (const { id } of select.all(ownerId)) gone.add(id)
    return gone.rows
  }
}

/** Selects the id of a row that is referred to, and what the referring row shows of it. */
function selectParent<Row extends Values>(
  resource: StoredResource<Row>,
  { column: referring, table }: Reference<string>,
): string {
  const objects = nestedObjects(resource).filter(({ referredBy }) => referredBy === referring)
  const shown = objects.flatMap(object => objectColumns(object, column, 'owner'))
  return `SELECT ${['id', ...shown].join(', ')} FROM ${table} AS owner WHERE id = ?`
}

/** Deletes a resource with many or heavy items, a few at a time, in a transaction of its own. */
function deleteLong<Row extends Values>(
  database: SqliteDatabase,
  resource: StoredResource<Row>,
  id: number,
  expected: ExpectedRevisions,
): Promise<Done | Missing | Changed> {
  const { name, table, array } = resource
  if (!array) throw new Error(`${table} have no array that could be long`)
  const { table: rows, index, key, onDelete, followedOnDelete } = array
  const some = `WHERE id IN (SELECT id FROM ${rows} INDEXED BY ${index} WHERE ${key} = ? LIMIT ${REMOVED_AT_ONCE})`
  const detachment = onDelete === 'cascade' ? `DELETE FROM ${rows} ${some}` : `UPDATE ${rows} SET ${key} = NULL ${some}`
  return database.bulk('writing', async transaction => {
    const reader = sqliteReader(transaction, resource)
    const before = reader.row(id)
    if (!before) return { missing: name }
    if (!isExpected(expected, before.revision)) return { changed: name }
    const found = reader.represent(before)
    const gone = followedOnDelete ? new Gone() : null
    const told = gone ? ` RETURNING ${followedOnDelete} AS id` : ' RETURNING id'
    const detach = transaction.prepare<[id: number], { id: number }>(detachment + told)
    for (let rows = detach.all(id); rows.length > 0; rows = detach.all(id)) {
      for (const row of rows) gone?.add(row.id)
      await turn()
    }
    transaction.prepare<[id: number]>(`DELETE FROM ${table} WHERE id = ?`).run(id)
    transaction.log([changeOf(resource, { id, before, after: null, gone: gone?.rows ?? null })])
    return { done: found }
  })
}
