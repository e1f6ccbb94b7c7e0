import { z } from '@hono/zod-openapi'
import { notFound, resourceAnswer } from '../answers.ts'
import { listAnswer } from '../lists/answer.ts'
import { PageQuery } from '../lists/page.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import type { AbsentReference, ReviewRepository } from './repository.ts'
import { Review, ReviewCreate } from './schema.ts'

const ReviewPath = z.object({ review_id: integer() })
const ProductPath = z.object({ product_id: integer() })
const UserPath = z.object({ user_id: integer() })
const ProductAndUserPath = z.object({ product_id: integer(), user_id: integer() })

export function addReviews(catalog: Catalog, reviews: ReviewRepository): void {
  operation(
    catalog,
    {
      operationId: 'read_reviews_reviews__get',
      method: 'get',
      url: '/reviews/',
      tag: 'Reviews',
      summary: 'Read Reviews',
      path: noParameters,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Review),
      absent: [],
    },
    ({ query }, context) => listAnswer(reviews.all(), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'create_review_reviews__post',
      method: 'post',
      url: '/reviews/',
      tag: 'Reviews',
      summary: 'Create Review',
      path: noParameters,
      query: noParameters,
      body: ReviewCreate,
      answer: Review,
      absent: ['Product', 'User'],
    },
    async ({ body }, context) => reviewAnswer(context, await reviews.create(body)),
  )

  operation(
    catalog,
    {
      operationId: 'read_reviews_by_product_reviews_products__product_id__get',
      method: 'get',
      url: '/reviews/products/{product_id}',
      tag: 'Reviews',
      summary: 'Read Reviews By Product',
      path: ProductPath,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Review),
      absent: ['Product'],
    },
    ({ path, query }, context) => listAnswer(reviews.ofProduct(path.product_id), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'read_reviews_by_user_reviews_users__user_id__get',
      method: 'get',
      url: '/reviews/users/{user_id}',
      tag: 'Reviews',
      summary: 'Read Reviews By User',
      path: UserPath,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Review),
      absent: ['User'],
    },
    ({ path, query }, context) => listAnswer(reviews.ofUser(path.user_id), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'read_reviews_by_product_and_user_reviews_products__product_id__users__user_id__get',
      method: 'get',
      url: '/reviews/products/{product_id}/users/{user_id}',
      tag: 'Reviews',
      summary: 'Read Reviews By Product And User',
      path: ProductAndUserPath,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(Review),
      absent: ['Product', 'User'],
    },
    ({ path, query }, context) => listAnswer(reviews.ofProductAndUser(path.product_id, path.user_id), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'read_review_reviews__review_id__get',
      method: 'get',
      url: '/reviews/{review_id}',
      tag: 'Reviews',
      summary: 'Read Review',
      path: ReviewPath,
      query: noParameters,
      body: noBody,
      answer: Review,
      absent: ['Review'],
    },
    async ({ path }, context) => reviewAnswer(context, await reviews.find(path.review_id)),
  )

  operation(
    catalog,
    {
      operationId: 'update_review_reviews__review_id__patch',
      method: 'patch',
      url: '/reviews/{review_id}',
      tag: 'Reviews',
      summary: 'Update Review',
      path: ReviewPath,
      query: noParameters,
      body: ReviewCreate,
      answer: Review,
      absent: ['Review', 'Product', 'User'],
    },
    async ({ path, body }, context) => reviewAnswer(context, await reviews.update(path.review_id, body)),
  )

  operation(
    catalog,
    {
      operationId: 'delete_review_reviews__review_id__delete',
      method: 'delete',
      url: '/reviews/{review_id}',
      tag: 'Reviews',
      summary: 'Delete Review',
      path: ReviewPath,
      query: noParameters,
      body: noBody,
      answer: Review,
      absent: ['Review'],
    },
    async ({ path }, context) => reviewAnswer(context, await reviews.delete(path.review_id)),
  )
}

function reviewAnswer(context: CatalogContext, found: Representation | AbsentReference | null): Response {
  if (!found) return notFound('Review')
  return 'absent' in found ? notFound(found.absent) : resourceAnswer(found, context)
}
