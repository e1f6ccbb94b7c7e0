import { z } from '@hono/zod-openapi'
import { jsonAnswer, notFound, resourceAnswer } from '../answers.ts'
import { EMBEDDED_MAX } from '../embedded/schema.ts'
import { listAnswer } from '../lists/answer.ts'
import { moreLink } from '../lists/link.ts'
import { CursorQuery, PageQuery, WHOLE_LIST } from '../lists/page.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import type { ProductRepository } from './repository.ts'
import { Product, ProductCreate } from './schema.ts'

const ProductPath = z.object({ product_id: integer() })
const CategoryPath = z.object({ category_id: integer() })

export function addProducts(catalog: Catalog, products: ProductRepository): void {
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
    ({ query }, context) => listAnswer(products.all(), query, context),
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
    async ({ body }) => jsonAnswer(await products.create(body)),
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
      listAnswer(products.inCategory(path.category_id), { ...WHOLE_LIST, ...query }, context),
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
    async ({ path, body }) => {
      const product = await products.createInCategory(path.category_id, body)
      return product ? jsonAnswer(product) : notFound('Category')
    },
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
    async ({ path }, context) => productAnswer(context, path.product_id, await products.find(path.product_id)),
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
    async ({ path, body }, context) =>
      productAnswer(context, path.product_id, await products.update(path.product_id, body)),
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
    async ({ path }, context) => productAnswer(context, path.product_id, await products.delete(path.product_id)),
  )
}

function productAnswer(context: CatalogContext, id: number, found: Representation | null): Response {
  if (!found) return notFound('Product')
  return resourceAnswer(found, context, () => moreLink(`/reviews/products/${id}?skip=${EMBEDDED_MAX}`))
}
