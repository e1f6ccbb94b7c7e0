import { Database } from 'bun:sqlite'
import { type Rows, seed } from '../catalog/seed.ts'
import { WORKING_TREE } from '../stockroom.ts'

/** Each category has 100 products, each product 10 reviews and each user 100, at any size. */
export function sizesFor(products: number): Rows {
  return { categories: products / 100, products, users: products / 10, reviews: products * 10 }
}

/** Creates a database of that size: a million products take less than a minute. */
export async function fillDatabase(path: string, sizes: Rows, interrupted: AbortSignal): Promise<void> {
  await seed(WORKING_TREE, `sqlite:${path}`, { categories: 0, products: 0, users: 0, reviews: 0 }, interrupted)
  const { categories, products, users, reviews } = sizes
  using database = new Database(path)
  database.run('PRAGMA synchronous = OFF')
  database.run('PRAGMA cache_size = -500000')
  const indexes = database
    .query<{ name: string; sql: string }, []>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ('categories', 'products', 'users', 'reviews')",
    )
    .all()
  for (const { name } of indexes) database.run(`DROP INDEX ${name}`)
  insert(database, categories, `categories (name, description) SELECT 'Category ' || i, 'Useful things of kind ' || i`)
  insert(
    database,
    products,
    `products (category_id, name, price, description) SELECT 1 + i * 7919 % ${categories}, 'Steel table ' || i,
      1 + i * 31 % 50000 / 100.0, 'The table with the number ' || i || ' is made of steel and oak, and stands on any floor.'`,
  )
  insert(
    database,
    users,
    `users (name, email, avatar, password_hash, is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended,
      is_verified) SELECT 'Somebody ' || i, 'somebody.' || i || '@mail.example', 'https://images.example/' || i, '-',
      1, 0, 0, 0, 0, 0, 1`,
  )
  insert(
    database,
    reviews,
    `reviews (product_id, user_id, rating, comment) SELECT 1 + i * 2654435761 % 1000000007 % ${products},
      1 + i * 40503 % 15485863 % ${users}, 1 + i % 5, 'Exactly what I was looking for! It came after two days.'`,
  )
  for (const { sql } of indexes) database.run(sql)
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
}

function insert(database: Database, count: number, rows: string): void {
  const numbers = `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})`
  database.run(`${numbers} INSERT INTO ${rows} FROM numbers`)
}
