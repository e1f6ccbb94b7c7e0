import { z } from '@hono/zod-openapi'
import { jsonAnswer, notFound, resourceAnswer } from '../answers.ts'
import { listAnswer } from '../lists/answer.ts'
import { moreLink } from '../lists/link.ts'
import { PageQuery } from '../lists/page.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import type { CategoryRepository } from './repository.ts'
import { Category, CategoryCreate } from './schema.ts'

const CategoryPath = z.object({ category_id: integer() })

export function addCategories(catalog: Catalog, categories: CategoryRepository): void {
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
    ({ query }, context) => listAnswer(categories.all(), query, context),
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
    async ({ body }) => jsonAnswer(await categories.create(body)),
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
    async ({ path }, context) => categoryAnswer(context, path.category_id, await categories.find(path.category_id)),
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
      categoryAnswer(context, path.category_id, await categories.update(path.category_id, body)),
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
    async ({ path }, context) => categoryAnswer(context, path.category_id, await categories.delete(path.category_id)),
  )
}

/** The list of a category's products takes no `skip`, so the link to the rest goes on after the last id shown. */
function categoryAnswer(context: CatalogContext, id: number, found: Representation | null): Response {
  if (!found) return notFound('Category')
  return resourceAnswer(found, context, cutAfterId => moreLink(`/products/${id}/products?after_id=${cutAfterId}`))
}
