import { z } from '@hono/zod-openapi'
import { PageQuery } from '../lists/page.ts'
import { listResponse } from '../lists/response.ts'
import { type Catalog, noParameters, operation } from '../operation.ts'
import { resourceResponse } from '../responses.ts'
import type { ResourceStore } from '../storage/store.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import { Review, ReviewCreate } from './schema.ts'
import type { ReviewRow } from './stored.ts'

const ReviewPath = z.object({ review_id: integer() })
const ProductPath = z.object({ product_id: integer() })
const UserPath = z.object({ user_id: integer() })
const ProductAndUserPath = z.object({ product_id: integer(), user_id: integer() })

export function addReviews(catalog: Catalog, reviews: ResourceStore<ReviewRow>): void {
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
    ({ query }, context) => listResponse(reviews.list(), query, context),
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
    async ({ body }, context) => resourceResponse(context, 'Review', await reviews.create(body)),
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
    ({ path, query }, context) => listResponse(reviews.list({ product_id: path.product_id }), query, context),
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
    ({ path, query }, context) => listResponse(reviews.list({ user_id: path.user_id }), query, context),
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
    ({ path, query }, context) =>
      listResponse(reviews.list({ product_id: path.product_id, user_id: path.user_id }), query, context),
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
    async ({ path }, context) => resourceResponse(context, 'Review', await reviews.find(path.review_id)),
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
    async ({ path, body }, context) => resourceResponse(context, 'Review', await reviews.update(path.review_id, body)),
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
    async ({ path }, context) => resourceResponse(context, 'Review', await reviews.delete(path.review_id)),
  )
}
