import type { Catalog, LinesContract } from '../http/operation.ts'
import { resourceOperations } from '../http/resource-operations.ts'
import type { ResourceStore } from '../storage/store.ts'
import { FURTHER_MEMBERS, Product, ProductCreate } from './schema.ts'
import { PRODUCTS, type ProductRow } from './stored.ts'

export function addProducts(catalog: Catalog, store: ResourceStore<ProductRow>, lines: LinesContract): void {
  const { list, create, find, update, remove } = resourceOperations(catalog, {
    resource: PRODUCTS,
    store,
    tag: 'Products',
    url: '/products/{product_id}',
    shape: Product,
    furtherMembers: FURTHER_MEMBERS,
    restOf: (id, { shownItems }) => `/reviews/products/${id}?skip=${shownItems}`,
  })

  list('read_products', '/products/', 'selectable')
  create('create_product', '/products/', { body: ProductCreate, lines }, body => ({ ...body, category_id: null }))

  list('read_products_by_category', '/products/{category_id}/products', 'whole')
  create(
    'create_product_by_category',
    '/products/{category_id}/products',
    { body: ProductCreate },
    (body, { category_id = null }) => ({ ...body, category_id }),
  )

  find('read_product')
  update('update_product', { method: 'put', body: ProductCreate }, body => body)
  remove('delete_product')
}
