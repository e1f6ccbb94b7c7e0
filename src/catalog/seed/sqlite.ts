import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { emptyCatalog } from '../repositories.ts'
import { type CatalogLoader, idAt } from './loader.ts'

/** Rows between two reports of progress. */
const REPORT_ROWS = 10_000

export function sqliteLoader(database: SqliteDatabase): CatalogLoader {
  const isEmpty = emptyCatalog(database)
  const insertCategory = database.prepare<[name: string, description: string]>(
    'INSERT INTO categories (name, description) VALUES (?, ?)',
  )
  const insertProduct = database.prepare<[categoryId: number | null, name: string, description: string, price: number]>(
    'INSERT INTO products (category_id, name, description, price) VALUES (?, ?, ?, ?)',
  )
  const insertUser = database.prepare<
    [name: string, email: string, avatar: string, passwordHash: string, active: number, admin: number, verified: number]
  >(`
    INSERT INTO users (name, email, avatar, password_hash,
      is_active, is_admin, is_verified, is_banned, is_blocked, is_deleted, is_suspended)
    VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0)`)
  const insertReview = database.prepare<[productId: number, userId: number, rating: number, comment: string]>(
    'INSERT INTO reviews (product_id, user_id, rating, comment) VALUES (?, ?, ?, ?)',
  )

  return {
    load: (catalog, loaded) =>
      database.write(() => {
        if (!isEmpty()) return false
        const insertAll = <Row>(
          kind: keyof typeof catalog.sizes,
          rows: Iterable<Row>,
          insert: (row: Row) => number,
        ) => {
          const ids: number[] = []
          for (const row of rows) {
            ids.push(insert(row))
            if (ids.length % REPORT_ROWS === 0 && ids.length < catalog.sizes[kind]) loaded(kind, ids.length)
          }
          loaded(kind, ids.length)
          return ids
        }
        const categories = insertAll('categories', catalog.categories(), row =>
          Number(insertCategory.run(row.name, row.description).lastInsertRowid),
        )
        const products = insertAll('products', catalog.products(), row =>
          Number(
            insertProduct.run(idAt(categories, row.category), row.name, row.description, row.price).lastInsertRowid,
          ),
        )
        const users = insertAll('users', catalog.users(), row =>
          Number(
            insertUser.run(
              row.name,
              row.email,
              row.avatar,
              row.passwordHash,
              row.is_active,
              row.is_admin,
              row.is_verified,
            ).lastInsertRowid,
          ),
        )
        insertAll('reviews', catalog.reviews(), row => {
          insertReview.run(products[row.product] ?? 0, users[row.user] ?? 0, row.rating, row.comment)
          return 0
        })
        return true
      }),
  }
}
