import { type Cursor, type ListQuery, looksAtValues, type Order, typeOf } from './query.ts'
import type { ColumnType, StoredResource, Value, Values } from './resource.ts'
import type { ColumnSql } from './shape.ts'
import type { IdPage } from './store.ts'

/** How an engine writes parameters; `number` counts from 1. */
export interface ParameterSql {
  readonly value: (number: number, type: ColumnType) => string
  /** A condition on a column and a parameter of `integers`. */
  readonly isAmong: (column: string, number: number) => string
  /** Integers as one parameter. */
  readonly integers: (values: readonly Value[]) => string
  /** The id of a row, if it is not that of `owner`. */
  readonly id?: string
}

/** The parts of a statement that selects rows of a list, each as `owner`. */
export interface ListSql {
  readonly where: string
  /** The parts of `where`. First come the filters of the query, in their order. */
  readonly conditions: readonly string[]
  readonly orderBy: string
  /** The values of the parameters in `where`, in order. */
  readonly parameters: Value[]
}

/** SQL for a query, the same on every engine but for parameters. */
export function listSql<Row extends Values>(
  resource: StoredResource<Row>,
  { where, order, from, until }: ListQuery<Row>,
  sql: ParameterSql,
): ListSql {
  const parameters: Value[] = []
  const parameter = (value: Value, type: ColumnType) => sql.value(parameters.push(value), type)
  const place = [...order.by.map(column => `owner.${column}`), sql.id ?? 'owner.id']
  const compared = (comparison: string, cursor: Cursor) => {
    const values = cursor.map((value, at) => parameter(value, typeAt(at)))
    return `(${place.join(', ')}) ${comparison} (${values.join(', ')})`
  }
  const typeAt = (at: number) => {
    const column = order.by[at]
    return column === undefined ? 'integer' : typeOf(resource, column)
  }
  const conditions = where.map(condition => {
    const column = `owner.${condition.column}`
    const valueSql = (value: Value) => parameter(value, typeOf(resource, condition.column))
    if (condition.is !== 'in') return `${column} ${condition.is} ${valueSql(condition.value)}`
    const ids = condition.value.filter(value => value !== null)
    const [first = null] = ids
    // Compared with one value, an index also gives the order of the rows; compared with a set, it does not.
    if (condition.value.length === 1) return first === null ? `${column} IS NULL` : `${column} = ${valueSql(first)}`
    const isAmong = sql.isAmong(column, parameters.push(sql.integers(ids)))
    return ids.length < condition.value.length ? `(${isAmong} OR ${column} IS NULL)` : isAmong
  })
  if (from.after) conditions.push(compared(order.isDescending ? '<' : '>', from.after))
  if (until) conditions.push(compared(order.isDescending ? '>=' : '<=', until))
  const direction = order.isDescending ? 'DESC' : 'ASC'
  return {
    where: allOf(conditions),
    conditions,
    orderBy: place.map(column => `${column} ${direction}`).join(', '),
    parameters,
  }
}

/** SQL that holds if all conditions do. */
export function allOf(conditions: readonly string[]): string {
  return conditions.join(' AND ') || 'TRUE'
}

/** SQL for the columns that tell a row's place besides its id, after others. */
export function placeColumns<Row extends Values>(
  resource: StoredResource<Row>,
  { by }: Order<Row>,
  sql: ColumnSql,
): string {
  return by.map(column => `, ${sql('owner', column, typeOf(resource, column))} AS "place.${column}"`).join('')
}

/** A row with its id and the columns of `placeColumns`; of a list that looks at values, with its revision, too. */
export type PlacedRow = { readonly id: number; readonly revision?: number | null } & Readonly<Record<string, Value>>

/** The page of a list whose rows were read, and one more if there are more. */
export function pageOfRows<Row extends Values>(query: ListQuery<Row>, rows: readonly PlacedRow[]): IdPage {
  const { order, limit } = query
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    ids: shown.map(({ id }) => id),
    last: last ? [...order.by.map(column => last[`place.${column}`] ?? null), last.id] : null,
    more: rows.length > limit,
    revisions: looksAtValues(query) ? shown.map(({ revision }) => revision ?? null) : null,
  }
}
