import type { Parameter } from '../../database/sqlite/connection.ts'
import type { SqliteDatabase, SqliteTransaction } from '../../database/sqlite/database.ts'
import type { StoredResource, Values } from './resource.ts'
import type { Scope } from './store.ts'

/** The search for the index with the fewest rows asks for one with at most this many, then for this many times as many. */
const FEW_ROWS = 256
const MORE_TIMES = 8

/** Prepares the statements of each kind of list. Call the result within a snapshot. */
export function sqliteLists<Row extends Values>(database: SqliteDatabase, resource: StoredResource<Row>) {
  const { table } = resource
  return listStatements(database, resource, (index, condition) => ({
    selectIds: database.prepare<Parameter[], { id: number }>(
      `SELECT id FROM ${table} AS owner INDEXED BY ${index} WHERE ${condition} id > ? ORDER BY id LIMIT ? OFFSET ?`,
    ),
    selectLastId: database.prepare<Parameter[], { id: number }>(
      `SELECT id FROM ${table} AS owner INDEXED BY ${index} WHERE ${condition} TRUE ORDER BY id DESC LIMIT 1`,
    ),
  }))
}

/**
 * Prepares statements for each kind of list, by each index that has its rows. `prepare` gets the beginning of a condition, which
 * is empty or ends with `AND`. Call the result within a snapshot.
 */
export function listStatements<Row extends Values, Statements>(
  source: SqliteTransaction,
  { table, lists }: StoredResource<Row>,
  prepare: (index: string, condition: string) => Statements,
) {
  const prepared = lists.map(({ by, indexes }) => {
    const condition = by.map(column => `owner.${column} = ? AND`).join(' ')
    const choices = indexes.map(index => prepare(index, condition))
    return { by, fewest: indexes.length > 1 ? fewestRows(source, table, by, indexes) : () => 0, choices }
  })
  return (scope: Scope<Row>) => {
    let columns = 0
    for (const _ in scope) columns += 1
    for (const { by, fewest, choices } of prepared) {
      if (by.length !== columns || !by.every(column => column in scope)) continue
      const parameters: Parameter[] = by.map(column => scope[column] ?? null)
      const statements = choices[fewest(parameters)]
      if (statements) return { statements, parameters }
    }
    throw new Error(`${table} have no list by ${Object.keys(scope)}`)
  }
}

/** Finds the index with the fewest rows, in a few times the time that it takes to walk over them. */
function fewestRows(source: SqliteTransaction, table: string, by: readonly string[], indexes: readonly string[]) {
  const rows = indexes.map((index, place) =>
    source.prepare<Parameter[], { id: number }>(
      `SELECT id FROM ${table} INDEXED BY ${index} WHERE ${by[place]} = ? LIMIT 1 OFFSET ?`,
    ),
  )
  return (parameters: readonly Parameter[]): number => {
    for (let few = FEW_ROWS; ; few *= MORE_TIMES) {
      for (const [place, row] of rows.entries()) if (!row.get(parameters[place] ?? null, few)) return place
    }
  }
}
