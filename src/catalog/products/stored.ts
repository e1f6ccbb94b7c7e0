import { REVIEW_COLUMNS } from '../storage/nested-columns.ts'
import type { StoredResource } from '../storage/resource.ts'
import type { ProductCreate } from './schema.ts'

export type ProductRow = Readonly<ProductCreate & { category_id: number | null }>

export const PRODUCTS: StoredResource<ProductRow> = {
  name: 'Product',
  table: 'products',
  columns: { category_id: 'integer', name: 'text', description: 'long text', price: 'number' },
  members: ['name', 'description', 'price'],
  references: [{ column: 'category_id', table: 'categories', resource: 'Category' }],
  keptOnUpdate: ['category_id'],
  array: {
    member: 'reviews',
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
  lists: [
    { by: [], indexes: ['products_by_id'] },
    { by: ['category_id'], indexes: ['products_by_category'] },
  ],
  filters: {},
  orders: {},
}
