import type { Parameter, Prepared } from '../../../database/sqlite/connection.ts'
import type { SqliteTransaction } from '../../../database/sqlite/database.ts'
import type { ReadAll } from '../../../database/sqlite/reading-thread.ts'
import type { ListQuery } from '../query.ts'
import { type ListSql, listSql, type ParameterSql, type PlacedRow, pageOfRows, placeColumns } from '../query-sql.ts'
import type { StoredResource, Values } from '../resource.ts'
import type { IdPage } from '../store.ts'
import { column } from './reader.ts'

export const SQLITE_PARAMETERS: ParameterSql = {
  value: () => '?',
  isAmong: column => `${column} IN (SELECT value FROM json_each(?))`,
  integers: values => JSON.stringify(values),
}

/** The search for the index with the fewest rows asks for one with at most this many, then for this many times as many. */
const FEW_ROWS = 256
const MORE_TIMES = 8

interface ListStatement<Selected> {
  readonly sql: string
  readonly statement: Prepared<Parameter[], Selected>
}

/**
 * Makes the function that prepares a statement for a query that looks at no values, once for each shape of query and index; there
 * are few. `sqlOf` gets the index with the fewest rows of the list, or `null` if SQLite is to choose. Call the result within a
 * snapshot.
 */
export function listStatements<Row extends Values, Selected>(
  source: SqliteTransaction,
  resource: StoredResource<Row>,
  sqlOf: (list: ListSql, index: string | null, query: ListQuery<Row>) => string,
) {
  const indexOf = indexChoice(source, resource)
  const prepared = new Map<string, ListStatement<Selected>>()
  return (query: ListQuery<Row>) => {
    const list = listSql(resource, query, SQLITE_PARAMETERS)
    const index = indexOf(query)
    const shape = `${index} ${list.where} ${list.orderBy}`
    const { sql, statement } = prepared.getOrInsertComputed(shape, () => {
      const sql = sqlOf(list, index, query)
      return { sql, statement: source.prepare(sql) }
    })
    return { sql, statement, parameters: list.parameters }
  }
}

export function indexedBy(index: string | null): string {
  return index === null ? '' : `INDEXED BY ${index}`
}

/** SQL from `FROM` on for the rows of a list, each as `owner`, and the parameters in it. */
interface RowsSql {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/** Reads a page of a list that looks at values, which may take long, by `all` of the thread for long reads. */
export async function pageBeside<Row extends Values>(
  all: ReadAll,
  resource: StoredResource<Row>,
  query: ListQuery<Row>,
  { sql, orderBy, parameters, isKnown = '' }: RowsSql & { readonly orderBy: string; readonly isKnown?: string },
): Promise<IdPage> {
  const rows = await all<PlacedRow>(
    // Otherwise SQLite would read the revision of each row that it sorts.
    `WITH page AS MATERIALIZED (
      SELECT owner.id${placeColumns(resource, query.order, column)} ${sql} ORDER BY ${orderBy} LIMIT ? OFFSET ?
    )
    SELECT *, (SELECT revision FROM ${resource.table} WHERE id = page.id${isKnown}) AS revision FROM page`,
    [...parameters, query.limit + 1, query.from.skip],
  )
  return pageOfRows(query, rows)
}

/** Counts a list there, up to a limit. */
export async function countBeside(all: ReadAll, { sql, parameters }: RowsSql, most: number): Promise<number> {
  const [row] = await all<{ number: number }>(`SELECT count(*) AS number FROM (SELECT 1 ${sql} LIMIT ?)`, [
    ...parameters,
    most,
  ])
  return row?.number ?? 0
}

/** Makes the function that finds the index of a list which a resource describes; `null` for any other list. */
function indexChoice<Row extends Values>(source: SqliteTransaction, { table, lists }: StoredResource<Row>) {
  const described = lists.map(({ by, indexes }) => {
    const fewest = indexes.length > 1 ? fewestRows(source, table, by, indexes) : () => 0
    return { by, indexes, fewest }
  })
  return ({ where }: ListQuery<Row>): string | null => {
    for (const { by, indexes, fewest } of described) {
      if (by.length !== where.length || !where.every(({ column, is }) => is === '=' && by.includes(column))) continue
      const values = by.map(name => singleValue(where.find(({ column }) => column === name)?.value))
      return indexes[fewest(values)] ?? null
    }
    return null
  }
}

function singleValue(value: Parameter | readonly Parameter[] | undefined): Parameter {
  return typeof value === 'number' || typeof value === 'string' ? value : null
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
