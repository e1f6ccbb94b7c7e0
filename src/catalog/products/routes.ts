import type { Catalog, LinesContract } from '../http/operation.ts'
import { idIn, resourceOperations } from '../http/resource-operations.ts'
import type { ResourceStore } from '../storage/store.ts'
import { Product, ProductCreate, ProductFields } from './schema.ts'
import { PRODUCTS, type ProductRow } from './stored.ts'

export function addProducts(catalog: Catalog, store: ResourceStore<ProductRow>, lines: LinesContract): void {
  const { list, create, find, update, remove } = resourceOperations(catalog, {
    resource: PRODUCTS,
    store,
    tag: 'Products',
    shape: Product,
    chosen: ProductFields,
    restOf: (id, { shownItems }) => `/reviews/products/${id}?skip=${shownItems}`,
  })

  list('read_products', '/products/', 'selectable')
  create('create_product', '/products/', { body: ProductCreate, lines }, ({ body }) => ({ ...body, category_id: null }))

  list('read_products_by_category', '/products/{category_id}/products', 'whole')
  create(
    'create_product_by_category',
    '/products/{category_id}/products',
    { body: ProductCreate },
    ({ path, body }) => ({ ...body, category_id: idIn(path, 'category_id') }),
  )

  find('read_product', '/products/{product_id}')
  update('update_product', '/products/{product_id}', { method: 'put', body: ProductCreate }, ({ body }) => body)
  remove('delete_product', '/products/{product_id}')
}
