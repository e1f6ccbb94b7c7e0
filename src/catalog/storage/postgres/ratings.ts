import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { COUNT_COLUMNS, type Rating, type RatingRow, type Ratings, ratingOf } from '../rating.ts'

const COUNTS = Object.entries(COUNT_COLUMNS).map(([name, column]) => `coalesce(${column}, 0)::float8 AS ${name}`)

/** SQL for the counts of the products $1. */
export const SELECT_RATINGS = `
  SELECT id::float8 AS id, ${COUNTS.join(', ')}
  FROM products LEFT JOIN product_ratings ON product_id = id WHERE id = ANY ($1::bigint[])`

export function postgresRatings(database: PostgresDatabase): Ratings {
  const read = async (productIds: readonly number[]): Promise<Map<number, Rating>> => {
    const rows = await database.read<RatingRow>(SELECT_RATINGS, `{${productIds.join(',')}}`)
    return new Map(rows.map(row => [row.id, ratingOf(row)]))
  }
  // Concurrent requests for one product each share a statement.
  const batch = database.batch<number, Rating | null>(async ids => {
    const ratings = await read([...new Set(ids)])
    return ids.map(id => ratings.get(id) ?? null)
  })
  return {
    read: async productIds => {
      const [id] = productIds
      if (productIds.length !== 1 || id === undefined) return read(productIds)
      const rating = await batch.add(id)
      return new Map(rating ? [[id, rating]] : [])
    },
  }
}
