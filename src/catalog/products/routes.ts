import { z } from '@hono/zod-openapi'
import type { Awaitable } from '../../awaitable.ts'
import type { RequestScope } from '../../server/requests.ts'
import { expectedRevisions } from '../http/entity-tag.ts'
import { CursorQuery, listParameters, listQuery, WHOLE_LIST } from '../http/lists/page.ts'
import { listResponse } from '../http/lists/response.ts'
import { type Catalog, noInput, operation } from '../http/operation.ts'
import { resourceResponse } from '../http/responses.ts'
import { integerParameter } from '../http/validation/fields.ts'
import type { Representation } from '../storage/representation.ts'
import type { Absent, Changed, ResourceStore } from '../storage/store.ts'
import { Product, ProductCreate } from './schema.ts'
import { PRODUCTS, type ProductRow } from './stored.ts'

const ProductPath = z.object({ product_id: integerParameter() })
const CategoryPath = z.object({ category_id: integerParameter() })

/** The members that all contracts of this resource share. */
const shared = { ...noInput, tag: 'Products' }

export function addProducts(catalog: Catalog, products: ResourceStore<ProductRow>): void {
  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_products_products__get',
      method: 'get',
      url: '/products/',
      summary: 'Read Products',
      query: listParameters(PRODUCTS),
      response: z.array(Product),
    },
    ({ query }, scope) => listResponse(products, listQuery(PRODUCTS, query), query, scope),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'create_product_products__post',
      method: 'post',
      url: '/products/',
      summary: 'Create Product',
      body: ProductCreate,
      response: Product,
    },
    ({ body }, scope, claim) =>
      resourceResponse(scope, 'Product', products.create({ ...body, category_id: null }, claim)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_products_by_category_products__category_id__products_get',
      method: 'get',
      url: '/products/{category_id}/products',
      summary: 'Read Products By Category',
      path: CategoryPath,
      query: CursorQuery,
      response: z.array(Product),
      absent: ['Category'],
    },
    ({ path, query }, scope) => {
      const parameters = { ...WHOLE_LIST, ...query }
      return listResponse(products, listQuery(PRODUCTS, parameters, path), parameters, scope)
    },
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'create_product_by_category_products__category_id__products_post',
      method: 'post',
      url: '/products/{category_id}/products',
      summary: 'Create Product By Category',
      path: CategoryPath,
      body: ProductCreate,
      response: Product,
      absent: ['Category'],
    },
    ({ path, body }, scope, claim) =>
      resourceResponse(scope, 'Product', products.create({ ...body, category_id: path.category_id }, claim)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_product_products__product_id__get',
      method: 'get',
      url: '/products/{product_id}',
      summary: 'Read Product',
      path: ProductPath,
      response: Product,
      absent: ['Product'],
    },
    ({ path }, scope) => respond(scope, path.product_id, products.find(path.product_id)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'update_product_products__product_id__put',
      method: 'put',
      url: '/products/{product_id}',
      summary: 'Update Product',
      path: ProductPath,
      body: ProductCreate,
      response: Product,
      absent: ['Product'],
    },
    ({ path, body }, scope) =>
      respond(scope, path.product_id, products.update(path.product_id, body, expectedRevisions(scope.request))),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'delete_product_products__product_id__delete',
      method: 'delete',
      url: '/products/{product_id}',
      summary: 'Delete Product',
      path: ProductPath,
      response: Product,
      absent: ['Product'],
    },
    ({ path }, scope) =>
      respond(scope, path.product_id, products.delete(path.product_id, expectedRevisions(scope.request))),
  )
}

function respond(scope: RequestScope, id: number, found: Awaitable<Representation | Absent | Changed | null>) {
  return resourceResponse(scope, 'Product', found, ({ shownItems }) => `/reviews/products/${id}?skip=${shownItems}`)
}
