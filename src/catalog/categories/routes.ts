import type { Catalog, LinesContract } from '../http/operation.ts'
import { resourceOperations } from '../http/resource-operations.ts'
import type { ResourceStore } from '../storage/store.ts'
import { Category, CategoryCreate } from './schema.ts'
import { CATEGORIES, type CategoryRow } from './stored.ts'

export function addCategories(catalog: Catalog, store: ResourceStore<CategoryRow>, lines: LinesContract): void {
  const { list, create, find, update, remove } = resourceOperations(catalog, {
    resource: CATEGORIES,
    store,
    tag: 'Categories',
    url: '/categories/{category_id}',
    shape: Category,
    // The list of a category's products has no `skip`, so the rest begins after the last id shown.
    restOf: (id, { lastId }) => `/products/${id}/products?after_id=${lastId}`,
  })

  list('read_categories', '/categories/', 'selectable')
  create('create_category', '/categories/', { body: CategoryCreate, lines }, body => body)
  find('read_category')
  update('update_category', { method: 'put', body: CategoryCreate }, body => body)
  remove('delete_category')
}
