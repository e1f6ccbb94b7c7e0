import { z } from '@hono/zod-openapi'
import type { Awaitable } from '../../awaitable.ts'
import type { RequestScope } from '../../server/requests.ts'
import { expectedRevisions } from '../http/entity-tag.ts'
import { listParameters, listQuery } from '../http/lists/page.ts'
import { listResponse } from '../http/lists/response.ts'
import { type Catalog, noInput, operation } from '../http/operation.ts'
import { resourceResponse } from '../http/responses.ts'
import { integerParameter } from '../http/validation/fields.ts'
import type { Representation } from '../storage/representation.ts'
import type { Absent, Changed, ResourceStore } from '../storage/store.ts'
import { Category, CategoryCreate } from './schema.ts'
import { CATEGORIES, type CategoryRow } from './stored.ts'

const CategoryPath = z.object({ category_id: integerParameter() })

/** The members that all contracts of this resource share. */
const shared = { ...noInput, tag: 'Categories' }

export function addCategories(catalog: Catalog, categories: ResourceStore<CategoryRow>): void {
  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_categories_categories__get',
      method: 'get',
      url: '/categories/',
      summary: 'Read Categories',
      query: listParameters(CATEGORIES),
      response: z.array(Category),
    },
    ({ query }, scope) => listResponse(categories, listQuery(CATEGORIES, query), query, scope),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'create_category_categories__post',
      method: 'post',
      url: '/categories/',
      summary: 'Create Category',
      body: CategoryCreate,
      response: Category,
    },
    ({ body }, scope, claim) => resourceResponse(scope, 'Category', categories.create(body, claim)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_category_categories__category_id__get',
      method: 'get',
      url: '/categories/{category_id}',
      summary: 'Read Category',
      path: CategoryPath,
      response: Category,
      absent: ['Category'],
    },
    ({ path }, scope) => respond(scope, path.category_id, categories.find(path.category_id)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'update_category_categories__category_id__put',
      method: 'put',
      url: '/categories/{category_id}',
      summary: 'Update Category',
      path: CategoryPath,
      body: CategoryCreate,
      response: Category,
      absent: ['Category'],
    },
    ({ path, body }, scope) =>
      respond(scope, path.category_id, categories.update(path.category_id, body, expectedRevisions(scope.request))),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'delete_category_categories__category_id__delete',
      method: 'delete',
      url: '/categories/{category_id}',
      summary: 'Delete Category',
      path: CategoryPath,
      response: Category,
      absent: ['Category'],
    },
    ({ path }, scope) =>
      respond(scope, path.category_id, categories.delete(path.category_id, expectedRevisions(scope.request))),
  )
}

/** The list of a category's products has no `skip`, so the link to the rest continues after the last id shown. */
function respond(scope: RequestScope, id: number, found: Awaitable<Representation | Absent | Changed | null>) {
  return resourceResponse(scope, 'Category', found, ({ lastId }) => `/products/${id}/products?after_id=${lastId}`)
}
