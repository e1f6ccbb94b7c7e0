import type { NestedColumns } from './resource.ts'

/** The columns of the shapes in `schema.ts`, in the order of a response, without the id. */

export const PRODUCT_COLUMNS: NestedColumns = { name: 'text', description: 'long text', price: 'number' }

export const REVIEW_COLUMNS: NestedColumns = {
  product_id: 'integer',
  user_id: 'integer',
  rating: 'small integer',
  comment: 'long text',
}

export const USER_COLUMNS: NestedColumns = { name: 'text', avatar: 'long text' }
