import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import { type Rating, type RatingRow, type Ratings, ratingOf, selectRatings } from '../rating.ts'

export function sqliteRatings(database: SqliteDatabase): Ratings {
  const select = database.prepare<[id: number], RatingRow>(`${selectRatings(count => count)} WHERE products.id = ?`)
  return {
    read: productIds =>
      database.snapshot(() => {
        const ratings = new Map<number, Rating>()
        for (const id of productIds) {
          const row = select.get(id)
          if (row) ratings.set(id, ratingOf(row))
        }
        return ratings
      }),
  }
}
