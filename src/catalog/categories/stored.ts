import { PRODUCT_COLUMNS } from '../storage/nested-columns.ts'
import { type IndexedResource, idFilter, nameIndex } from '../storage/resource.ts'
import type { CategoryCreate } from './schema.ts'

export type CategoryRow = Readonly<CategoryCreate>

export const CATEGORIES: IndexedResource<CategoryRow> = {
  name: 'Category',
  table: 'categories',
  columns: { name: 'text', description: 'text' },
  members: ['name', 'description'],
  furtherMembers: [],
  references: [],
  keptOnUpdate: [],
  array: {
    table: 'products',
    key: 'category_id',
    index: 'products_by_category',
    isWide: false,
    columns: PRODUCT_COLUMNS,
    onDelete: 'set null',
    followedOnDelete: null,
    alsoShownBy: [],
  },
  followed: ['name'],
  lists: [],
  filters: { id: idFilter('categories') },
  orders: { name: { by: ['sort_name'], source: 'index' } },
  index: nameIndex('categories', 'category', 'description'),
}
