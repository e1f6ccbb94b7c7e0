import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { LOCK_ALL, plainInsertion } from '../creates/postgres.ts'
import { type CatalogLoader, idAt } from './loader.ts'
import type { SampleCatalog } from './sample.ts'

/** Rows that go in one statement. */
const BATCH_ROWS = 5_000

const SOMETHING = `
  SELECT id FROM categories UNION ALL SELECT id FROM products UNION ALL SELECT id FROM users LIMIT 1`

export function postgresLoader(database: PostgresDatabase): CatalogLoader {
  return {
    load: (catalog, loaded) =>
      database.bulk(async query => {
        // Ids become visible in their order, so nobody creates anything until the commit; a second seed waits here, too.
        await query(LOCK_ALL)
        if ((await query(SOMETHING)).length > 0) return false
        const insertAll = async (kind: keyof SampleCatalog['sizes'], rows: Iterable<object>) => {
          const ids: number[] = []
          const insert = plainInsertion(kind)
          for (const batch of batches(rows)) {
            for (const { id } of await query<{ id: number }>(insert, JSON.stringify(batch))) ids.push(id)
            loaded(kind, ids.length)
          }
          return ids
        }
        const categories = await insertAll('categories', catalog.categories())
        const products = await insertAll('products', productRows(catalog, categories))
        const users = await insertAll('users', userRows(catalog))
        await insertAll('reviews', reviewRows(catalog, products, users))
        return true
      }),
  }
}

function* productRows(catalog: SampleCatalog, categories: readonly number[]) {
  for (const { category, ...row } of catalog.products()) yield { ...row, category_id: idAt(categories, category) }
}

function* userRows(catalog: SampleCatalog) {
  for (const { passwordHash, ...row } of catalog.users()) yield { ...row, password_hash: passwordHash }
}

function* reviewRows(catalog: SampleCatalog, products: readonly number[], users: readonly number[]) {
  for (const { product, user, ...row } of catalog.reviews()) {
    yield { ...row, product_id: idAt(products, product), user_id: idAt(users, user) }
  }
}

/** Yields one empty batch for no rows, so that progress is reported for them, too. */
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
