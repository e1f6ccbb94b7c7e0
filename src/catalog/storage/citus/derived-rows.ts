import { type Change, eventCount } from '../../../database/change.ts'
import { LOG_CHANGES } from '../../../database/postgres/changes.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { inputOf } from '../postgres/creation.ts'
import { COUNT_COLUMNS } from '../rating.ts'
import type { IndexDescription, Value, Values } from '../resource.ts'
import type { FlatRow } from '../shape.ts'

/** Adds numbers of reviews to those that products have. */
const ADD_COUNTS = `
  ON CONFLICT (product_id) DO UPDATE SET ${COUNT_COLUMNS.map(column => `${column} = kept.${column} + excluded.${column}`).join(', ')}`

const COUNTED = inputOf({
  product_id: 'integer',
  ...Object.fromEntries(COUNT_COLUMNS.map(column => [column, 'integer'])),
})

/** An INSERT of rows from JSON makes Citus commit in two phases, even if there are none. */
const COUNT = `
  INSERT INTO product_ratings AS kept (${COUNTED.names}) SELECT ${COUNTED.names} FROM ${COUNTED.input}
  ORDER BY product_id ${ADD_COUNTS}`

const NOTE = `
  INSERT INTO index_notes (part, id)
  SELECT part, id FROM ${inputOf({ part: 'text', id: 'integer' }).input}`

/** SQL that adds the reviews which meet a condition to the counts of their products, or takes them out. */
export function countReviews(which: string, sign: '+' | '-' = '+'): string {
  return `
    INSERT INTO product_ratings AS kept (product_id, ${COUNT_COLUMNS.join(', ')})
    SELECT product_id, ${COUNT_COLUMNS.map((_, place) => `${sign}count(*) FILTER (WHERE rating = ${place + 1})`).join(', ')}
    FROM reviews WHERE ${which} GROUP BY product_id ORDER BY product_id ${ADD_COUNTS}`
}

/** A review that a product has got or lost. */
export interface CountedReview {
  readonly product_id: Value
  readonly rating: Value
  readonly by: 1 | -1
}

export function countedReview(row: Values, by: 1 | -1): CountedReview {
  return { product_id: row.product_id ?? null, rating: row.rating ?? null, by }
}

/** A row that the index has to be brought up to date with. */
interface Note {
  readonly part: string
  readonly id: number
}

/** The rows to write besides those that a transaction has changed. */
export interface Consequences {
  readonly reviews: readonly CountedReview[]
  readonly notes: readonly Note[]
  readonly changes: readonly Change[]
}

/**
 * Writes what triggers write on plain PostgreSQL, where tables have them: counts of reviews and notes for the index. Then it logs
 * the changes. Call it last, when the transaction has all its other locks. Notes and changes are on the coordinator, so they
 * must be committed together with the rows on the workers.
 */
export async function addDerivedRows(ask: Query, { reviews, notes, changes }: Consequences): Promise<void> {
  const counts = countsOf(reviews)
  const noted = [...notes, ...counts.map(({ product_id }) => ({ part: 'product_values', id: product_id }))]
  const statements = [ask(COUNT, JSON.stringify(counts))]
  if (noted.length > 0) statements.push(ask(NOTE, JSON.stringify(noted)))
  if (changes.length > 0) statements.push(ask(LOG_CHANGES, JSON.stringify(changes), eventCount(changes)))
  await Promise.all(statements)
}

/** The note about a row that was updated; none if the index has nothing of what has changed. */
export function updateNotes(index: IndexDescription | null, before: FlatRow, after: FlatRow): Note[] {
  if (!index) return []
  const isOther = (columns: readonly string[]) => columns.some(column => before[column] !== after[column])
  if (isOther(['name', index.text])) return [{ part: index.table, id: after.id }]
  return index.values && isOther(Object.keys(index.copied)) ? [{ part: index.values, id: after.id }] : []
}

/** The counts to add to those of each product, in the order of the products. */
function countsOf(reviews: readonly CountedReview[]) {
  const byProduct = Map.groupBy(reviews, ({ product_id }) => Number(product_id))
  return [...byProduct]
    .map(([product_id, of]) => {
      const added = COUNT_COLUMNS.map((_, place) =>
        of.reduce((sum, { rating, by }) => (Number(rating) === place + 1 ? sum + by : sum), 0),
      )
      return { product_id, added }
    })
    .filter(({ added }) => added.some(count => count !== 0))
    .map(({ product_id, added }) => ({
      product_id,
      ...Object.fromEntries(COUNT_COLUMNS.map((column, place) => [column, added[place]])),
    }))
    .sort((one, other) => one.product_id - other.product_id)
}
