import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { COUNT_COLUMNS, type Rating, type RatingRow, type Ratings, ratingOf } from '../rating.ts'
import { IDS } from './rows.ts'

const COUNTS = Object.entries(COUNT_COLUMNS).map(([name, column]) => `coalesce(${column}, 0)::float8 AS ${name}`)

/** SQL for the counts of products. */
export function ratingsSql(ids: string): string {
  return `
  SELECT id::float8 AS id, ${COUNTS.join(', ')}
  FROM products LEFT JOIN product_ratings ON product_id = id WHERE id = ANY (${ids})`
}

const SELECT = ratingsSql(IDS)

export function postgresRatings(database: PostgresDatabase): Ratings {
  const read = async (productIds: readonly number[]): Promise<Map<number, Rating>> => {
    const rows = await database.read<RatingRow>(SELECT, `{${productIds.join(',')}}`)
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
