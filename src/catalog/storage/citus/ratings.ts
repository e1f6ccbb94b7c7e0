import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { SELECT_RATINGS } from '../postgres/ratings.ts'
import { type RatingRow, type Ratings, ratingOf } from '../rating.ts'
import { idArray, readAcross } from './shards.ts'

/** Concurrent requests for one product each do not share a statement, because it would ask several shards. */
export function citusRatings(database: PostgresDatabase): Ratings {
  return {
    read: async productIds => {
      const ids = idArray(productIds)
      const rows =
        productIds.length === 1
          ? await database.readShard<RatingRow>('products', SELECT_RATINGS, ids)
          : await readAcross(database, 'products', ask => ask<RatingRow>(SELECT_RATINGS, ids))
      return new Map(rows.map(row => [row.id, ratingOf(row)]))
    },
  }
}
