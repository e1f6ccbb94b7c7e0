import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { ratingsSql } from '../postgres/ratings.ts'
import { idArray } from '../postgres/table.ts'
import { type RatingRow, type Ratings, ratingOf } from '../rating.ts'
import { readAcross } from './shards.ts'

const SELECT = ratingsSql('$1::bigint[]')

/** Concurrent requests for one product each do not share a statement, because it would ask several shards. */
export function citusRatings(database: PostgresDatabase): Ratings {
  return {
    read: async productIds => {
      const ids = idArray(productIds)
      const rows =
        productIds.length === 1
          ? await database.readShard<RatingRow>('products', SELECT, ids)
          : await readAcross(database, 'products', ask => ask<RatingRow>(SELECT, ids))
      return new Map(rows.map(row => [row.id, ratingOf(row)]))
    },
  }
}
