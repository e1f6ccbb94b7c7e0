import { indexedWords, sortKey } from '../../search/search.ts'
import { COUNT_COLUMNS, ratingOf } from '../rating.ts'
import type { ColumnType, IndexDescription, Value, Values } from '../resource.ts'

/** The form of what the index has. If a database has another number, its index is built again. */
export const INDEX_FORM = 1

/** Mark before a word of a name, and before its first word. Neither is in a word. */
export const OF_NAME = '§'
export const FIRST_OF_NAME = '»'

/** A row with what its facts are made of. */
export type NotedRow = { readonly id: number } & Values

/** SQL for `NotedRow`s, between `SELECT` and a condition on `owner.id`. `sql` reads a number. */
export function notedRows(
  { table, text, copied, ratings }: IndexDescription,
  sql: (column: string) => string = column => column,
): string {
  const counts = ratings ? COUNT_COLUMNS.map(column => `${sql(`coalesce(ratings.${column}, 0)`)} AS ${column}`) : []
  const columns = [...Object.keys(copied).map(column => `${sql(`owner.${column}`)} AS ${column}`), ...counts]
  const selected = [`${sql('owner.id')} AS id`, 'owner.name', `owner.${text}`, ...columns].join(', ')
  const join = ratings ? `LEFT JOIN ${ratings} AS ratings ON ratings.product_id = owner.id` : ''
  return `${selected} FROM ${table} AS owner ${join}`
}

/** SQL for the parts of which notes tell. */
export function notedParts({ table, values }: IndexDescription): string {
  return values === null ? `'${table}'` : `'${table}', '${values}'`
}

/** The facts of a row, by column, and its words with their marks. */
export function factsOf(description: IndexDescription, row: NotedRow) {
  const name = String(row.name)
  const words = indexedWords(name, String(row[description.text]))
  const facts: Values = { ...valueFacts(description, row), sort_name: sortKey(name), beginning: words.beginning }
  const marked = [...words.ofName.map(word => OF_NAME + word), ...words.first.map(word => FIRST_OF_NAME + word)]
  return { facts, words: [...words.all, ...marked] }
}

/** The facts of a row that do not depend on its words, by column. */
export function valueFacts({ copied, ratings }: IndexDescription, row: NotedRow): Values {
  const facts: Record<string, Value> = { id: row.id }
  for (const column of Object.keys(copied)) facts[column] = row[column] ?? null
  if (ratings === null) return facts
  const { score, count, average } = ratingOf(COUNT_COLUMNS.map(column => Number(row[column])))
  return { ...facts, score, review_count: count, average }
}

/** The columns of `valueFacts`, but for the id. */
export function valueColumns({ copied, ratings }: IndexDescription): Readonly<Record<string, ColumnType>> {
  const rated = { score: 'number', review_count: 'integer', average: 'number' } as const
  return { ...copied, ...(ratings && rated) }
}
