import type { SqliteDatabase } from '../../database/sqlite.ts'
import type { EmbeddedProduct, EmbeddedReview, Embedding } from '../embedded/schema.ts'
import { cutEmbedded, type EmbeddedStatements } from '../embedded/sqlite.ts'
import type { Chunk } from '../lists/listing.ts'
import { chunkOf, embed, sqliteListing } from '../lists/sqlite.ts'
import type { ProductRepository } from './repository.ts'
import type { Product, ProductCreate } from './schema.ts'

export function sqliteProducts(database: SqliteDatabase, embedded: EmbeddedStatements): ProductRepository {
  const select = database.prepare<[id: number], EmbeddedProduct>(
    'SELECT id, name, description, price FROM products WHERE id = ?',
  )
  const selectRange = database.prepare<[afterId: number, untilId: number, limit: number], EmbeddedProduct>(
    'SELECT id, name, description, price FROM products WHERE id > ? AND id <= ? ORDER BY id LIMIT ?',
  )
  const selectIds = database.prepare<[afterId: number, offset: number], { id: number }>(
    'SELECT id FROM products INDEXED BY products_by_id WHERE id > ? ORDER BY id LIMIT 2 OFFSET ?',
  )
  const selectLastId = database.prepare<[], { id: number | null }>('SELECT max(id) AS id FROM products')
  const selectRangeInCategory = database.prepare<
    [categoryId: number, afterId: number, untilId: number, limit: number],
    EmbeddedProduct
  >(`
    SELECT id, name, description, price FROM products INDEXED BY products_by_category
    WHERE category_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`)
  const selectIdsInCategory = database.prepare<[categoryId: number, afterId: number, offset: number], { id: number }>(`
    SELECT id FROM products INDEXED BY products_by_category
    WHERE category_id = ? AND id > ? ORDER BY id LIMIT 2 OFFSET ?`)
  const selectLastIdInCategory = database.prepare<[categoryId: number], { id: number | null }>(
    'SELECT max(id) AS id FROM products WHERE category_id = ?',
  )
  const selectCategory = database.prepare<[id: number], { id: number }>('SELECT id FROM categories WHERE id = ?')
  const insert = database.prepare<[categoryId: number | null, name: string, description: string, price: number]>(
    'INSERT INTO products (category_id, name, description, price) VALUES (?, ?, ?, ?)',
  )
  const change = database.prepare<[name: string, description: string, price: number, id: number]>(
    'UPDATE products SET name = ?, description = ?, price = ? WHERE id = ?',
  )
  const remove = database.prepare<[id: number]>('DELETE FROM products WHERE id = ?')

  const find = (id: number): Embedding<Product> | null => {
    const row = select.get(id)
    if (!row) return null
    const { rows, cut } = cutEmbedded(embedded.reviewsOfProduct.all(id))
    return { resource: productOf(row, rows), cut }
  }

  const add = (categoryId: number | null, { name, description, price }: ProductCreate): Product => {
    const { lastInsertRowid } = insert.run(categoryId, name, description, price)
    return { id: Number(lastInsertRowid), name, description, price, reviews: [] }
  }

  return {
    all: () =>
      sqliteListing(database, {
        ids: (afterId, offset) => selectIds.all(afterId, offset),
        lastId: () => selectLastId.get()?.id ?? null,
        chunk: (afterId, untilId, limit) =>
          withReviews(
            chunkOf(selectRange.iterate(afterId, untilId, limit + 1), limit, weightOfProduct),
            (first, last) => embedded.reviewsOfProducts.iterate(first, last),
          ),
        absentParent: () => null,
      }),
    inCategory: categoryId =>
      sqliteListing(database, {
        ids: (afterId, offset) => selectIdsInCategory.all(categoryId, afterId, offset),
        lastId: () => selectLastIdInCategory.get(categoryId)?.id ?? null,
        chunk: (afterId, untilId, limit) =>
          withReviews(
            chunkOf(selectRangeInCategory.iterate(categoryId, afterId, untilId, limit + 1), limit, weightOfProduct),
            (first, last) => embedded.reviewsOfProductsIn.iterate(first, last, categoryId),
          ),
        absentParent: () => (selectCategory.get(categoryId) ? null : 'Category'),
      }),
    find: async id => database.snapshot(() => find(id)),
    create: product => database.write(() => add(null, product)),
    createInCategory: (categoryId, product) =>
      database.write(() => (selectCategory.get(categoryId) ? add(categoryId, product) : null)),
    update: (id, { name, description, price }) =>
      database.write(() => {
        change.run(name, description, price, id)
        return find(id)
      }),
    delete: id =>
      database.write(() => {
        const found = find(id)
        remove.run(id)
        return found
      }),
  }
}

function withReviews(
  products: Chunk<EmbeddedProduct>,
  reviews: (firstId: number, lastId: number) => Iterable<EmbeddedReview>,
): Chunk<Product> {
  const first = products.items[0]
  const last = products.items.at(-1)
  if (!first || !last) return { items: [], more: products.more }
  return embed(
    products,
    reviews(first.id, last.id),
    review => review.product_id,
    review => review.comment.length,
    productOf,
  )
}

function productOf({ id, name, description, price }: EmbeddedProduct, reviews: EmbeddedReview[]): Product {
  return { id, name, description, price, reviews }
}

function weightOfProduct(row: EmbeddedProduct): number {
  return row.description.length
}
