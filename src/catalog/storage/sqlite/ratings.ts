import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import { COUNT_COLUMNS, type Rating, type RatingRow, type Ratings, ratingOf } from '../rating.ts'

const COUNTS = Object.entries(COUNT_COLUMNS).map(([name, column]) => `coalesce(${column}, 0) AS ${name}`)

export function sqliteRatings(database: SqliteDatabase): Ratings {
  const select = database.prepare<[id: number], RatingRow>(
    `SELECT id, ${COUNTS.join(', ')} FROM products LEFT JOIN product_ratings ON product_id = id WHERE id = ?`,
  )
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
