import { z } from '@hono/zod-openapi'
import { CursorQuery, PageQuery, WHOLE_LIST } from '../lists/page.ts'
import { listResponse } from '../lists/response.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { resourceResponse } from '../responses.ts'
import { NESTED_MAX } from '../storage/resource.ts'
import type { Absent, ResourceStore } from '../storage/store.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import { Product, ProductCreate } from './schema.ts'
import type { ProductRow } from './stored.ts'

const ProductPath = z.object({ product_id: integer() })
const CategoryPath = z.object({ category_id: integer() })

export function addProducts(catalog: Catalog, products: ResourceStore<ProductRow>): void {
  operation(
    catalog,
    {
      operationId: 'read_products_products__get',
      method: 'get',
      url: '/products/',
      tag: 'Products',
      summary: 'Read Products',
      path: noParameters,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Product),
      absent: [],
    },
    ({ query }, context) => listResponse(products.list(), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'create_product_products__post',
      method: 'post',
      url: '/products/',
      tag: 'Products',
      summary: 'Create Product',
      path: noParameters,
      query: noParameters,
      body: ProductCreate,
      answer: Product,
      absent: [],
    },
    async ({ body }, context) =>
      resourceResponse(context, 'Product', await products.create({ ...body, category_id: null })),
  )

  operation(
    catalog,
    {
      operationId: 'read_products_by_category_products__category_id__products_get',
      method: 'get',
      url: '/products/{category_id}/products',
      tag: 'Products',
      summary: 'Read Products By Category',
      path: CategoryPath,
      query: CursorQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Product),
      absent: ['Category'],
    },
    ({ path, query }, context) =>
      listResponse(products.list({ category_id: path.category_id }), { ...WHOLE_LIST, ...query }, context),
  )

  operation(
    catalog,
    {
      operationId: 'create_product_by_category_products__category_id__products_post',
      method: 'post',
      url: '/products/{category_id}/products',
      tag: 'Products',
      summary: 'Create Product By Category',
      path: CategoryPath,
      query: noParameters,
      body: ProductCreate,
      answer: Product,
      absent: ['Category'],
    },
    async ({ path, body }, context) =>
      resourceResponse(context, 'Product', await products.create({ ...body, category_id: path.category_id })),
  )

  operation(
    catalog,
    {
      operationId: 'read_product_products__product_id__get',
      method: 'get',
      url: '/products/{product_id}',
      tag: 'Products',
      summary: 'Read Product',
      path: ProductPath,
      query: noParameters,
      body: noBody,
      answer: Product,
      absent: ['Product'],
    },
    async ({ path }, context) => respond(context, path.product_id, await products.find(path.product_id)),
  )

  operation(
    catalog,
    {
      operationId: 'update_product_products__product_id__put',
      method: 'put',
      url: '/products/{product_id}',
      tag: 'Products',
      summary: 'Update Product',
      path: ProductPath,
      query: noParameters,
      body: ProductCreate,
      answer: Product,
      absent: ['Product'],
    },
    async ({ path, body }, context) => respond(context, path.product_id, await products.update(path.product_id, body)),
  )

  operation(
    catalog,
    {
      operationId: 'delete_product_products__product_id__delete',
      method: 'delete',
      url: '/products/{product_id}',
      tag: 'Products',
      summary: 'Delete Product',
      path: ProductPath,
      query: noParameters,
      body: noBody,
      answer: Product,
      absent: ['Product'],
    },
    async ({ path }, context) => respond(context, path.product_id, await products.delete(path.product_id)),
  )
}

function respond(context: CatalogContext, id: number, found: Representation | Absent | null): Response {
  return resourceResponse(context, 'Product', found, () => `/reviews/products/${id}?skip=${NESTED_MAX}`)
}
