import type { Parameter } from '../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { changesOf, type References, referencesOf } from './changes.ts'
import { deleteHeavy } from './deleted.ts'
import { CHUNK_WEIGHT_MAX } from './listing.ts'
import type { StoredResource, Values } from './resource.ts'
import { SqlitePositions } from './sqlite-positions.ts'
import { sqliteReader } from './sqlite-reader.ts'
import type { Absent, Found, ResourceTable, Scope, Update } from './store.ts'

/** Number of an array's rows deleted in one turn of the event loop. */
const REMOVED_AT_ONCE = 50

/** Reads and writes one kind of resource, with statements that are prepared once. Each call sees one snapshot. */
export function sqliteTable<Row extends Values>(
  database: SqliteDatabase,
  resource: StoredResource<Row>,
): ResourceTable<Row> {
  const { table, references } = resource
  const find = sqliteReader(database, resource)
  const lists = listStatements(database, resource)
  const selectId = database.prepare<[id: number], { id: number }>(`SELECT id FROM ${table} WHERE id = ?`)
  const selectReferences = database.prepare<[id: number], References>(
    `SELECT ${['id', ...references.map(({ column }) => column)].join(', ')} FROM ${table} WHERE id = ?`,
  )
  const parents = references.map(({ column, table: owners, resource: parent }) => ({
    column,
    parent,
    select: database.prepare<[id: number], { id: number }>(`SELECT id FROM ${owners} WHERE id = ?`),
  }))
  const columns = Object.keys(resource.columns)
  const insert = database.prepare<Parameter[]>(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const changed = columns.filter(column => !resource.keptOnUpdate.includes(column))
  const change = database.prepare<Parameter[]>(
    `UPDATE ${table} SET ${changed.map(column => `${column} = coalesce(?, ${column})`).join(', ')} WHERE id = ?`,
  )
  const remove = database.prepare<[id: number]>(`DELETE FROM ${table} WHERE id = ?`)

  const absentParent = (values: Update<Row>): Absent | null => {
    for (const { column, parent, select } of parents) {
      const id = values[column]
      if (typeof id === 'number' && !select.get(id)) return { absent: parent }
    }
    return null
  }

  /** The row that was just written. Call it in the same transaction. */
  const written = (id: number): Found => {
    const found = find(id)
    if (!found) throw new Error(`a row of ${table} is missing in the transaction that wrote it`)
    return found
  }

  return {
    find: (id, keep) =>
      database.snapshot(() => {
        const found = find(id)
        if (found) keep?.(found)
        return found
      }),
    read: ({ ids }, keep) =>
      database.snapshot(() => {
        const found: Found[] = []
        let count = 0
        let weight = 0
        for (const id of ids) {
          count += 1
          const next = find(id)
          if (!next) continue
          found.push(next)
          keep?.(next)
          weight += next.weight
          if (weight > CHUNK_WEIGHT_MAX) break
        }
        return { found, count }
      }),
    page: (scope, { afterId, skip, limit }, seen) => {
      const { selectIds, parameters, positions } = lists(scope)
      return database.snapshot(() => {
        const near = positions?.near({ afterId, skip }) ?? { afterId, skip }
        parameters.push(near.afterId, limit, near.skip)
        const ids = selectIds.all(...parameters).map(({ id }) => id)
        seen?.(ids)
        return { ids, cached: [] }
      })
    },
    lastId: async scope => {
      const { selectLastId, parameters } = lists(scope)
      return database.snapshot(() => selectLastId.get(...parameters)?.id ?? 0)
    },
    canStream: async () => {},
    exists: async id => database.snapshot(() => selectId.get(id) !== null),
    create: row =>
      database.write(changes => {
        const absent = absentParent(row)
        if (absent) return absent
        const id = Number(insert.run(...columns.map(column => row[column] ?? null)).lastInsertRowid)
        changes.push(...changesOf(resource, id, null, referencesOf(resource, row)))
        return written(id)
      }),
    update: (id, row) =>
      database.write(changes => {
        const before = selectReferences.get(id)
        if (!before) return null
        const absent = absentParent(row)
        if (absent) return absent
        change.run(...changed.map(column => row[column] ?? null), id)
        changes.push(...changesOf(resource, id, before, selectReferences.get(id)))
        return written(id)
      }),
    delete: async id => {
      const deleted = await database.write(changes => {
        const found = find(id)
        if (found && isLarge(found)) return 'too large'
        if (found) changes.push(...changesOf(resource, id, selectReferences.get(id), null))
        remove.run(id)
        return found
      })
      return deleted === 'too large' ? deleteLarge(database, resource, id) : deleted
    },
  }
}

function isLarge({ rest, cutAfterId }: Found): boolean {
  return rest !== undefined || cutAfterId !== null
}

/** Deletes a resource with many or heavy items, a few at a time, in a transaction of its own. */
function deleteLarge<Row extends Values>(database: SqliteDatabase, resource: StoredResource<Row>, id: number) {
  const { table, array } = resource
  if (!array) throw new Error(`${table} have no array that could be large`)
  const { table: rows, index, key, onDelete } = array
  const some = `WHERE id IN (SELECT id FROM ${rows} INDEXED BY ${index} WHERE ${key} = ? LIMIT ${REMOVED_AT_ONCE})`
  const detachment = onDelete === 'cascade' ? `DELETE FROM ${rows} ${some}` : `UPDATE ${rows} SET ${key} = NULL ${some}`
  return deleteHeavy(hold =>
    database.bulk('writing', async transaction => {
      const source = { prepare: transaction.prepare, snapshot: <Result>(read: () => Result) => read() }
      const found = sqliteReader(source, resource)(id)
      const held = found && (await hold(found))
      const detach = transaction.prepare<[id: number]>(detachment)
      while (detach.run(id).changes > 0) await new Promise<void>(resolve => setImmediate(resolve))
      transaction.prepare<[id: number]>(`DELETE FROM ${table} WHERE id = ?`).run(id)
      return held
    }),
  )
}

/** Prepares the statements of each kind of list. */
function listStatements<Row extends Values>(database: SqliteDatabase, { table, lists }: StoredResource<Row>) {
  const prepared = lists.map(({ by, index }) => {
    const condition = by.map(column => `${column} = ?`).join(' AND ') || 'TRUE'
    return {
      by,
      positions: by.length === 0 ? new SqlitePositions(database, table) : null,
      selectIds: database.prepare<Parameter[], { id: number }>(
        `SELECT id FROM ${table} INDEXED BY ${index} WHERE ${condition} AND id > ? ORDER BY id LIMIT ? OFFSET ?`,
      ),
      selectLastId: database.prepare<Parameter[], { id: number | null }>(
        `SELECT max(id) AS id FROM ${table} WHERE ${condition}`,
      ),
    }
  })
  return (scope: Scope<Row>) => {
    let columns = 0
    for (const _ in scope) columns += 1
    for (const list of prepared) {
      if (list.by.length !== columns || !list.by.every(column => column in scope)) continue
      const parameters: Parameter[] = list.by.map(column => scope[column] ?? null)
      return { ...list, parameters }
    }
    throw new Error(`${table} have no list by ${Object.keys(scope)}`)
  }
}
