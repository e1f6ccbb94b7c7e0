import { z } from '@hono/zod-openapi'
import { PageQuery } from '../lists/page.ts'
import { listResponse } from '../lists/response.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { resourceResponse } from '../responses.ts'
import type { Absent, ResourceStore } from '../storage/store.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import { Category, CategoryCreate } from './schema.ts'
import type { CategoryRow } from './stored.ts'

const CategoryPath = z.object({ category_id: integer() })

export function addCategories(catalog: Catalog, categories: ResourceStore<CategoryRow>): void {
  operation(
    catalog,
    {
      operationId: 'read_categories_categories__get',
      method: 'get',
      url: '/categories/',
      tag: 'Categories',
      summary: 'Read Categories',
      path: noParameters,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Category),
      absent: [],
    },
    ({ query }, context) => listResponse(categories.list(), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'create_category_categories__post',
      method: 'post',
      url: '/categories/',
      tag: 'Categories',
      summary: 'Create Category',
      path: noParameters,
      query: noParameters,
      body: CategoryCreate,
      answer: Category,
      absent: [],
    },
    async ({ body }, context) => resourceResponse(context, 'Category', await categories.create(body)),
  )

  operation(
    catalog,
    {
      operationId: 'read_category_categories__category_id__get',
      method: 'get',
      url: '/categories/{category_id}',
      tag: 'Categories',
      summary: 'Read Category',
      path: CategoryPath,
      query: noParameters,
      body: noBody,
      answer: Category,
      absent: ['Category'],
    },
    async ({ path }, context) => respond(context, path.category_id, await categories.find(path.category_id)),
  )

  operation(
    catalog,
    {
      operationId: 'update_category_categories__category_id__put',
      method: 'put',
      url: '/categories/{category_id}',
      tag: 'Categories',
      summary: 'Update Category',
      path: CategoryPath,
      query: noParameters,
      body: CategoryCreate,
      answer: Category,
      absent: ['Category'],
    },
    async ({ path, body }, context) =>
      respond(context, path.category_id, await categories.update(path.category_id, body)),
  )

  operation(
    catalog,
    {
      operationId: 'delete_category_categories__category_id__delete',
      method: 'delete',
      url: '/categories/{category_id}',
      tag: 'Categories',
      summary: 'Delete Category',
      path: CategoryPath,
      query: noParameters,
      body: noBody,
      answer: Category,
      absent: ['Category'],
    },
    async ({ path }, context) => respond(context, path.category_id, await categories.delete(path.category_id)),
  )
}

/** The list of a category's products takes no `skip`, so the link to the rest goes on after the last id shown. */
function respond(context: CatalogContext, id: number, found: Representation | Absent | null): Response {
  return resourceResponse(context, 'Category', found, lastId => `/products/${id}/products?after_id=${lastId}`)
}
