import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { EmbeddedProduct, EmbeddedReview } from '../embedded/schema.ts'
import {
  deleting,
  type Embedding,
  embedding,
  finding,
  PRODUCT_COLUMNS,
  REVIEWS_OF_PRODUCT,
} from '../embedded/sqlite.ts'
import { allRows, chunkOf, sqliteListing } from '../lists/sqlite.ts'
import { Remembered } from '../remembered.ts'
import type { ProductRepository } from './repository.ts'
import type { Product, ProductCreate } from './schema.ts'

const COLUMNS = PRODUCT_COLUMNS.join(', ')

const PRODUCT: Embedding<EmbeddedProduct, EmbeddedReview, EmbeddedReview, Product> = {
  array: REVIEWS_OF_PRODUCT,
  columns: COLUMNS,
  ownerOf: review => review.product_id,
  weight: review => review.comment.length,
  itemOf: review => review,
  resourceOf: ({ id, name, description, price }, reviews) => ({ id, name, description, price, reviews }),
}

export function sqliteProducts(database: SqliteDatabase): ProductRepository {
  const remembered = new Remembered(database)
  const read = finding(database, PRODUCT)
  const selectRange = database.prepare<[afterId: number, untilId: number, limit: number], EmbeddedProduct>(
    `SELECT ${COLUMNS} FROM products WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  )
  const rows = allRows(database, 'products')
  const withReviews = embedding(database, PRODUCT)

  const selectRangeInCategory = database.prepare<
    [categoryId: number, afterId: number, untilId: number, limit: number],
    EmbeddedProduct
  >(`
    SELECT ${COLUMNS} FROM products INDEXED BY products_by_category
    WHERE category_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`)
  const selectIdsInCategory = database.prepare<
    [categoryId: number, afterId: number, limit: number, offset: number],
    { id: number }
  >(`
    SELECT id FROM products INDEXED BY products_by_category
    WHERE category_id = ? AND id > ? ORDER BY id LIMIT ? OFFSET ?`)
  const selectLastIdInCategory = database.prepare<[categoryId: number], { id: number | null }>(
    'SELECT max(id) AS id FROM products WHERE category_id = ?',
  )
  const withReviewsInCategory = embedding<EmbeddedProduct, EmbeddedReview, EmbeddedReview, [categoryId: number]>(
    database,
    PRODUCT,
    'owner.category_id = ?',
  )
  const selectCategory = database.prepare<[id: number], { id: number }>('SELECT id FROM categories WHERE id = ?')

  const insert = database.prepare<[categoryId: number | null, name: string, description: string, price: number]>(
    'INSERT INTO products (category_id, name, description, price) VALUES (?, ?, ?, ?)',
  )
  const change = database.prepare<[name: string, description: string, price: number, id: number]>(
    'UPDATE products SET name = ?, description = ?, price = ? WHERE id = ?',
  )

  const add = (categoryId: number | null, { name, description, price }: ProductCreate): Product => {
    const { lastInsertRowid } = insert.run(categoryId, name, description, price)
    return { id: Number(lastInsertRowid), name, description, price, reviews: [] }
  }

  return {
    all: () =>
      sqliteListing(database, remembered, {
        ...rows,
        chunk: (afterId, untilId, limit) =>
          withReviews(chunkOf(selectRange.iterate(afterId, untilId, limit + 1), limit, weightOf)),
      }),
    inCategory: categoryId =>
      sqliteListing(database, remembered, {
        ids: (afterId, limit, offset) => selectIdsInCategory.all(categoryId, afterId, limit, offset),
        lastId: () => selectLastIdInCategory.get(categoryId)?.id ?? null,
        chunk: (afterId, untilId, limit) =>
          withReviewsInCategory(
            chunkOf(selectRangeInCategory.iterate(categoryId, afterId, untilId, limit + 1), limit, weightOf),
            categoryId,
          ),
        absentParent: () => (selectCategory.get(categoryId) ? null : 'Category'),
      }),
    find: async id =>
      database.recallOr(
        () => remembered.get(id),
        () => remembered.keep(id, read(id)),
      ),
    create: product => database.write(() => add(null, product)),
    createInCategory: (categoryId, product) =>
      database.write(() => (selectCategory.get(categoryId) ? add(categoryId, product) : null)),
    update: (id, { name, description, price }) =>
      database.write(() => {
        change.run(name, description, price, id)
        return read(id)
      }),
    delete: deleting(database, PRODUCT),
  }
}

function weightOf(product: EmbeddedProduct): number {
  return product.description.length
}
