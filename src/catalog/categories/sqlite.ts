import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { EmbeddedProduct } from '../embedded/schema.ts'
import { cutAfterId, embedding, jsonObject, PRODUCTS_OF_CATEGORY, withArray } from '../embedded/sqlite.ts'
import { allRows, chunkOf, sqliteListing } from '../lists/sqlite.ts'
import { Remembered } from '../remembered.ts'
import type { Representation } from '../representation.ts'
import type { CategoryRepository } from './repository.ts'
import type { Category } from './schema.ts'

type CategoryRow = Omit<Category, 'products'>
type EmbeddedProductRow = EmbeddedProduct & { readonly category_id: number }

const COLUMNS = ['id', 'name', 'description'] as const

export function sqliteCategories(database: SqliteDatabase): CategoryRepository {
  const remembered = new Remembered(database)
  const select = database.prepare<[id: number], Representation>(`
    SELECT
      ${withArray(jsonObject('category', COLUMNS), 'products', PRODUCTS_OF_CATEGORY, 'category.id')} AS json,
      ${cutAfterId(PRODUCTS_OF_CATEGORY, 'category.id')} AS cutAfterId
    FROM categories AS category WHERE id = ?`)
  const selectRange = database.prepare<[afterId: number, untilId: number, limit: number], CategoryRow>(
    `SELECT ${COLUMNS.join(', ')} FROM categories WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  )
  const rows = allRows(database, 'categories')
  const withProducts = embedding<CategoryRow, EmbeddedProductRow, Category>(database, PRODUCTS_OF_CATEGORY, {
    ownerOf: product => product.category_id,
    weight: product => product.description.length,
    itemOf: ({ id, name, description }, products) => ({ id, name, description, products: products.map(shown) }),
  })
  const insert = database.prepare<[name: string, description: string]>(
    'INSERT INTO categories (name, description) VALUES (?, ?)',
  )
  const change = database.prepare<[name: string, description: string, id: number]>(
    'UPDATE categories SET name = ?, description = ? WHERE id = ?',
  )
  const remove = database.prepare<[id: number]>('DELETE FROM categories WHERE id = ?')

  return {
    all: () =>
      sqliteListing(database, remembered, {
        ...rows,
        chunk: (afterId, untilId, limit) =>
          withProducts(chunkOf(selectRange.iterate(afterId, untilId, limit + 1), limit, row => row.description.length)),
      }),
    find: async id => database.snapshot(() => remembered.get(id) ?? remembered.keep(id, select.get(id))),
    create: ({ name, description }) =>
      database.write(() => {
        const { lastInsertRowid } = insert.run(name, description)
        return { id: Number(lastInsertRowid), name, description, products: [] }
      }),
    update: (id, { name, description }) =>
      database.write(() => {
        change.run(name, description, id)
        return select.get(id)
      }),
    delete: id =>
      database.write(() => {
        const found = select.get(id)
        remove.run(id)
        return found
      }),
  }
}

/** Without its owner's id. */
function shown({ id, name, description, price }: EmbeddedProductRow): EmbeddedProduct {
  return { id, name, description, price }
}
