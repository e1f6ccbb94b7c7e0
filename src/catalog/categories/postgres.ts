import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { creating } from '../creates/postgres.ts'
import { embeddingReads } from '../embedded/postgres.ts'
import { type Embedding, type EmbeddingRow, PRODUCTS } from '../embedded/postgres-rows.ts'
import { changed, deleting } from '../embedded/postgres-writes.ts'
import type { EmbeddedProduct } from '../embedded/schema.ts'
import { allOf, postgresListing } from '../lists/postgres.ts'
import type { CategoryRepository } from './repository.ts'
import type { Category, CategoryCreate } from './schema.ts'

interface Row extends EmbeddingRow {
  readonly name: string
  readonly description: string
  readonly item_id: number
  readonly item_name: string
  readonly item_description: string
  readonly price: number
}

const CATEGORY: Embedding<Row, EmbeddedProduct, Category> = {
  owners: 'categories',
  row: 'owner.id::float8 AS id, owner.name, owner.description',
  long: 'description',
  array: { ...PRODUCTS, key: 'category_id' },
  itemOf: row => ({ id: row.item_id, name: row.item_name, description: row.item_description, price: row.price }),
  resourceOf: ({ id, name, description }, products) => ({ id, name, description, products }),
}

const UPDATE = `
  UPDATE categories SET name = $2::text, description = $3::text WHERE id = $1::bigint`

export function postgresCategories(database: PostgresDatabase): CategoryRepository {
  const { find, ...reads } = embeddingReads(database, CATEGORY)
  const insert = creating<CategoryCreate>(database, 'categories')

  return {
    all: () => postgresListing(database, reads, allOf('categories')),
    find,
    create: async ({ name, description }) => {
      const id = await insert({ name, description })
      return { id, name, description, products: [] }
    },
    update: (id, { name, description }) => changed(database, CATEGORY, UPDATE, id, name, description),
    delete: deleting(database, CATEGORY),
  }
}
