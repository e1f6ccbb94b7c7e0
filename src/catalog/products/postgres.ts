import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { creatingReferring } from '../creates/postgres.ts'
import { embeddingReads } from '../embedded/postgres.ts'
import { type Embedding, type EmbeddingRow, REVIEWS } from '../embedded/postgres-rows.ts'
import { changed, deleting } from '../embedded/postgres-writes.ts'
import type { EmbeddedReview } from '../embedded/schema.ts'
import { allOf, postgresListing } from '../lists/postgres.ts'
import type { ProductRepository } from './repository.ts'
import type { Product, ProductCreate } from './schema.ts'

interface Row extends EmbeddingRow {
  readonly name: string
  readonly description: string
  readonly price: number
  readonly item_id: number
  readonly product_id: number
  readonly user_id: number
  readonly rating: number
  readonly comment: string
}

const PRODUCT: Embedding<Row, EmbeddedReview, Product> = {
  owners: 'products',
  row: 'owner.id::float8 AS id, owner.name, owner.description, owner.price',
  long: 'description',
  array: { ...REVIEWS, key: 'product_id' },
  itemOf: ({ item_id: id, product_id, user_id, rating, comment }) => ({ id, product_id, user_id, rating, comment }),
  resourceOf: ({ id, name, description, price }, reviews) => ({ id, name, description, price, reviews }),
}

const UPDATE = `
  UPDATE products SET name = $2::text, description = $3::text, price = $4::double precision WHERE id = $1::bigint`

export function postgresProducts(database: PostgresDatabase): ProductRepository {
  const { find, ...reads } = embeddingReads(database, PRODUCT)
  const insert = creatingReferring<ProductCreate & { readonly category_id: number | null }>(database, 'products', {
    references: { category_id: 'categories' },
  })
  const create = async (category_id: number | null, { name, description, price }: ProductCreate) => {
    const created = await insert({ category_id, name, description, price })
    return 'absent' in created ? null : { id: created.id, name, description, price, reviews: [] }
  }

  return {
    all: () => postgresListing(database, reads, allOf('products')),
    inCategory: categoryId =>
      postgresListing(database, reads, {
        table: 'products',
        condition: 'category_id = $5::bigint',
        parameters: [categoryId],
        absentParent: async () => {
          const found = await database.read('SELECT id FROM categories WHERE id = $1::bigint', categoryId)
          return found.length > 0 ? null : 'Category'
        },
      }),
    find,
    create: async product => {
      const created = await create(null, product)
      if (!created) throw new Error('a product without a category was not created')
      return created
    },
    createInCategory: create,
    update: (id, { name, description, price }) => changed(database, PRODUCT, UPDATE, id, name, description, price),
    delete: deleting(database, PRODUCT),
  }
}
