import type { SqliteDatabase } from '../../database/sqlite.ts'
import type { EmbeddedProduct, Embedding } from '../embedded/schema.ts'
import { cutEmbedded, type EmbeddedStatements } from '../embedded/sqlite.ts'
import type { Chunk } from '../lists/listing.ts'
import { chunkOf, embed, sqliteListing } from '../lists/sqlite.ts'
import type { CategoryRepository } from './repository.ts'
import type { Category } from './schema.ts'

type CategoryRow = Omit<Category, 'products'>

export function sqliteCategories(database: SqliteDatabase, embedded: EmbeddedStatements): CategoryRepository {
  const select = database.prepare<[id: number], CategoryRow>(
    'SELECT id, name, description FROM categories WHERE id = ?',
  )
  const selectRange = database.prepare<[afterId: number, untilId: number, limit: number], CategoryRow>(
    'SELECT id, name, description FROM categories WHERE id > ? AND id <= ? ORDER BY id LIMIT ?',
  )
  const selectIds = database.prepare<[afterId: number, offset: number], { id: number }>(
    'SELECT id FROM categories INDEXED BY categories_by_id WHERE id > ? ORDER BY id LIMIT 2 OFFSET ?',
  )
  const selectLastId = database.prepare<[], { id: number | null }>('SELECT max(id) AS id FROM categories')
  const insert = database.prepare<[name: string, description: string]>(
    'INSERT INTO categories (name, description) VALUES (?, ?)',
  )
  const change = database.prepare<[name: string, description: string, id: number]>(
    'UPDATE categories SET name = ?, description = ? WHERE id = ?',
  )
  const remove = database.prepare<[id: number]>('DELETE FROM categories WHERE id = ?')

  const find = (id: number): Embedding<Category> | null => {
    const row = select.get(id)
    if (!row) return null
    const { rows, cut } = cutEmbedded(embedded.productsOfCategory.all(id))
    return { resource: categoryOf(row, rows), cut }
  }

  const chunk = (afterId: number, untilId: number, limit: number): Chunk<Category> => {
    const categories = chunkOf(selectRange.iterate(afterId, untilId, limit + 1), limit, weightOfCategory)
    const first = categories.items[0]
    const last = categories.items.at(-1)
    if (!first || !last) return { items: [], more: categories.more }
    return embed(
      categories,
      embedded.productsOfCategories.iterate(first.id, last.id),
      product => product.category_id,
      product => product.description.length,
      (row, products) => categoryOf(row, products.map(shown)),
    )
  }

  return {
    all: () =>
      sqliteListing(database, {
        ids: (afterId, offset) => selectIds.all(afterId, offset),
        lastId: () => selectLastId.get()?.id ?? null,
        chunk,
        absentParent: () => null,
      }),
    find: async id => database.snapshot(() => find(id)),
    create: ({ name, description }) =>
      database.write(() => {
        const { lastInsertRowid } = insert.run(name, description)
        return { id: Number(lastInsertRowid), name, description, products: [] }
      }),
    update: (id, { name, description }) =>
      database.write(() => {
        change.run(name, description, id)
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

function categoryOf({ id, name, description }: CategoryRow, products: EmbeddedProduct[]): Category {
  return { id, name, description, products }
}

/** Without its parent's id, which the statement for several parents adds. */
function shown({ id, name, description, price }: EmbeddedProduct): EmbeddedProduct {
  return { id, name, description, price }
}

function weightOfCategory(row: CategoryRow): number {
  return row.description.length
}
