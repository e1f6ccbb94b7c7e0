import { PRODUCT_COLUMNS, USER_COLUMNS } from '../storage/nested-columns.ts'
import type { StoredResource } from '../storage/resource.ts'
import type { ReviewCreate } from './schema.ts'

export type ReviewRow = Readonly<ReviewCreate>

const OWNERS = { source: 'rows', is: 'in', valuesMax: 50, isOfAll: true } as const

export const REVIEWS: StoredResource<ReviewRow> = {
  name: 'Review',
  table: 'reviews',
  columns: { product_id: 'integer', user_id: 'integer', rating: 'small integer', comment: 'long text' },
  members: [
    'product_id',
    'user_id',
    'rating',
    'comment',
    { name: 'user', table: 'users', referredBy: 'user_id', columns: USER_COLUMNS },
    { name: 'product', table: 'products', referredBy: 'product_id', columns: PRODUCT_COLUMNS },
  ],
  furtherMembers: [],
  references: [
    { column: 'product_id', table: 'products', resource: 'Product' },
    { column: 'user_id', table: 'users', resource: 'User' },
  ],
  keptOnUpdate: [],
  array: null,
  followed: ['rating'],
  lists: [
    { by: ['product_id'], indexes: ['reviews_by_product'] },
    { by: ['user_id'], indexes: ['reviews_by_user'] },
    { by: ['product_id', 'user_id'], indexes: ['reviews_by_product', 'reviews_by_user'] },
  ],
  filters: {
    product_id: { ...OWNERS, column: 'product_id', description: 'Only reviews of one of these products' },
    user_id: { ...OWNERS, column: 'user_id', description: 'Only reviews by one of these users' },
    rating: {
      column: 'rating',
      source: 'rows',
      is: 'in',
      valuesMax: 5,
      minimum: 1,
      maximum: 5,
      description: 'Only reviews with one of these ratings',
    },
  },
  orders: { rating: { by: ['rating'], source: 'rows', within: 'product_id' } },
  index: null,
}
