import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { type Rating, type RatingRow, type Ratings, ratingOf, selectRatings } from '../rating.ts'

const SELECT = `${selectRatings(count => `(${count})::float8`)} WHERE products.id = ANY ($1::text::bigint[])`

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
