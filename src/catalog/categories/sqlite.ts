import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { EmbeddedProduct } from '../embedded/schema.ts'
import { deleting, type Embedding, embedding, finding, PRODUCTS_OF_CATEGORY } from '../embedded/sqlite.ts'
import { allRows, chunkOf, sqliteListing } from '../lists/sqlite.ts'
import { Remembered } from '../remembered.ts'
import type { CategoryRepository } from './repository.ts'
import type { Category } from './schema.ts'

type CategoryRow = Omit<Category, 'products'>
type EmbeddedProductRow = EmbeddedProduct & { readonly category_id: number }

const COLUMNS = 'id, name, description'

const CATEGORY: Embedding<CategoryRow, EmbeddedProductRow, EmbeddedProduct, Category> = {
  array: PRODUCTS_OF_CATEGORY,
  columns: COLUMNS,
  ownerOf: product => product.category_id,
  weight: product => product.description.length,
  // Without its owner's id.
  itemOf: ({ id, name, description, price }) => ({ id, name, description, price }),
  resourceOf: ({ id, name, description }, products) => ({ id, name, description, products }),
}

export function sqliteCategories(database: SqliteDatabase): CategoryRepository {
  const remembered = new Remembered(database)
  const read = finding(database, CATEGORY)
  const selectRange = database.prepare<[afterId: number, untilId: number, limit: number], CategoryRow>(
    `SELECT ${COLUMNS} FROM categories WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  )
  const rows = allRows(database, 'categories')
  const withProducts = embedding(database, CATEGORY)
  const insert = database.prepare<[name: string, description: string]>(
    'INSERT INTO categories (name, description) VALUES (?, ?)',
  )
  const change = database.prepare<[name: string, description: string, id: number]>(
    'UPDATE categories SET name = ?, description = ? WHERE id = ?',
  )

  return {
    all: () =>
      sqliteListing(database, remembered, {
        ...rows,
        chunk: (afterId, untilId, limit) =>
          withProducts(chunkOf(selectRange.iterate(afterId, untilId, limit + 1), limit, row => row.description.length)),
      }),
    find: async id =>
      database.recallOr(
        () => remembered.get(id),
        () => remembered.keep(id, read(id)),
      ),
    create: ({ name, description }) =>
      database.write(() => {
        const { lastInsertRowid } = insert.run(name, description)
        return { id: Number(lastInsertRowid), name, description, products: [] }
      }),
    update: (id, { name, description }) =>
      database.write(() => {
        change.run(name, description, id)
        return read(id)
      }),
    delete: deleting(database, CATEGORY),
  }
}
