import { REVIEW_COLUMNS } from '../storage/nested-columns.ts'
import { type IndexedResource, idFilter } from '../storage/resource.ts'
import type { ProductCreate } from './schema.ts'

export type ProductRow = Readonly<ProductCreate & { category_id: number | null }>

const PRICE = { column: 'price', source: 'index', minimum: 0 } as const

export const PRODUCTS: IndexedResource<ProductRow> = {
  name: 'Product',
  table: 'products',
  columns: { category_id: 'integer', name: 'text', description: 'long text', price: 'number' },
  members: ['name', 'description', 'price'],
  furtherMembers: ['category_id', { name: 'rating', counts: 'product_ratings' }, { name: 'highlights', text: null }],
  references: [{ column: 'category_id', table: 'categories', resource: 'Category' }],
  keptOnUpdate: ['category_id'],
  array: {
    table: 'reviews',
    key: 'product_id',
    index: 'reviews_by_product',
    isWide: true,
    columns: REVIEW_COLUMNS,
    onDelete: 'cascade',
    followedOnDelete: null,
    alsoShownBy: ['users'],
  },
  followed: ['name', 'price'],
  lists: [{ by: ['category_id'], indexes: ['products_by_category'] }],
  filters: {
    id: idFilter('products'),
    category_id: {
      column: 'category_id',
      source: 'rows',
      is: 'in',
      valuesMax: 50,
      isZeroNull: true,
      isOfAll: true,
      description: 'Only products in one of these categories; 0 stands for products without one',
    },
    min_price: { ...PRICE, is: '>=', description: 'Only products that cost at least this' },
    max_price: { ...PRICE, is: '<=', description: 'Only products that cost at most this' },
    below_price: { ...PRICE, is: '<', description: 'Only products that cost less than this' },
    min_rating: {
      column: 'average',
      source: 'index',
      is: '>=',
      minimum: 1,
      maximum: 5,
      description: 'Only products with reviews whose average is at least this',
    },
  },
  orders: {
    name: { by: ['sort_name'], source: 'index' },
    price: { by: ['price'], source: 'index' },
    rating: { by: ['score'], source: 'index' },
    reviews: { by: ['review_count'], source: 'index' },
  },
  index: {
    table: 'products',
    facts: 'product_facts',
    words: 'product_words',
    text: 'description',
    copied: { category_id: 'integer', price: 'number' },
    values: 'product_values',
    ratings: 'product_ratings',
  },
}
