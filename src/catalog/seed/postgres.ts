import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { type CatalogLoader, idAt } from './loader.ts'
import type { SampleCatalog } from './sample.ts'

/** Rows that go in one statement. */
const BATCH_ROWS = 5_000

/** Each takes its rows as one JSON array. Ids are given in the order of the array. */
const INSERT: Record<keyof SampleCatalog['sizes'], string> = {
  categories: `
    INSERT INTO categories (name, description)
    SELECT name, description FROM json_to_recordset($1::text::json) AS row (name text, description text)
    RETURNING id::float8 AS id`,
  products: `
    INSERT INTO products (category_id, name, description, price)
    SELECT category_id, name, description, price
    FROM json_to_recordset($1::text::json) AS row (category_id bigint, name text, description text, price double precision)
    RETURNING id::float8 AS id`,
  users: `
    INSERT INTO users (name, email, avatar, password_hash,
      is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended, is_verified)
    SELECT name, email, avatar, "passwordHash",
      is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended, is_verified
    FROM json_to_recordset($1::text::json) AS row (
      name text, email text, avatar text, "passwordHash" text, is_active bigint, is_admin bigint, is_banned bigint,
      is_blocked bigint, is_deleted bigint, is_suspended bigint, is_verified bigint
    )
    RETURNING id::float8 AS id`,
  reviews: `
    INSERT INTO reviews (product_id, user_id, rating, comment)
    SELECT product_id, user_id, rating, comment
    FROM json_to_recordset($1::text::json) AS row (product_id bigint, user_id bigint, rating smallint, comment text)
    RETURNING id::float8 AS id`,
}

const SOMETHING = `
  SELECT id FROM categories UNION ALL SELECT id FROM products UNION ALL SELECT id FROM users LIMIT 1`

/** Of two that fill the catalog at once, one waits here, and then finds it filled. */
const HOLD = "SELECT name FROM migrations WHERE name = '0001_catalog' FOR UPDATE"

export function postgresLoader(database: PostgresDatabase): CatalogLoader {
  return {
    load: (catalog, loaded) =>
      database.bulk(async query => {
        await query(HOLD)
        if ((await query(SOMETHING)).length > 0) return false
        const insertAll = async (kind: keyof SampleCatalog['sizes'], rows: Iterable<object>) => {
          const ids: number[] = []
          for (const batch of batches(rows)) {
            for (const { id } of await query<{ id: number }>(INSERT[kind], JSON.stringify(batch))) ids.push(id)
            loaded(kind, ids.length)
          }
          return ids
        }
        const categories = await insertAll('categories', catalog.categories())
        const products = await insertAll('products', productRows(catalog, categories))
        const users = await insertAll('users', catalog.users())
        await insertAll('reviews', reviewRows(catalog, products, users))
        return true
      }),
  }
}

function* productRows(catalog: SampleCatalog, categories: readonly number[]) {
  for (const { category, ...row } of catalog.products()) yield { ...row, category_id: idAt(categories, category) }
}

function* reviewRows(catalog: SampleCatalog, products: readonly number[], users: readonly number[]) {
  for (const { product, user, ...row } of catalog.reviews()) {
    yield { ...row, product_id: idAt(products, product), user_id: idAt(users, user) }
  }
}

/** At least one, so that nothing is told of as well. */
function* batches(rows: Iterable<object>): Generator<object[]> {
  let batch: object[] = []
  for (const row of rows) {
    batch.push(row)
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  yield batch
}
