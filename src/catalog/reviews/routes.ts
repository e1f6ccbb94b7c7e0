import { z } from '@hono/zod-openapi'
import { expectedRevisions } from '../http/entity-tag.ts'
import { listParameters, listQuery } from '../http/lists/page.ts'
import { listResponse } from '../http/lists/response.ts'
import { type Catalog, noInput, operation } from '../http/operation.ts'
import { resourceResponse } from '../http/responses.ts'
import { integerParameter } from '../http/validation/fields.ts'
import type { ResourceStore } from '../storage/store.ts'
import { Review, ReviewCreate } from './schema.ts'
import { REVIEWS, type ReviewRow } from './stored.ts'

const ReviewPath = z.object({ review_id: integerParameter() })
const ProductPath = z.object({ product_id: integerParameter() })
const UserPath = z.object({ user_id: integerParameter() })
const ProductAndUserPath = z.object({ product_id: integerParameter(), user_id: integerParameter() })

/** The members that all contracts of this resource share. */
const shared = { ...noInput, tag: 'Reviews' }

export function addReviews(catalog: Catalog, reviews: ResourceStore<ReviewRow>): void {
  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_reviews_reviews__get',
      method: 'get',
      url: '/reviews/',
      summary: 'Read Reviews',
      query: listParameters(REVIEWS),
      response: z.array(Review),
    },
    ({ query }, scope) => listResponse(reviews, listQuery(REVIEWS, query), query, scope),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'create_review_reviews__post',
      method: 'post',
      url: '/reviews/',
      summary: 'Create Review',
      body: ReviewCreate,
      response: Review,
      absent: ['Product', 'User'],
    },
    ({ body }, scope, claim) => resourceResponse(scope, 'Review', reviews.create(body, claim)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_reviews_by_product_reviews_products__product_id__get',
      method: 'get',
      url: '/reviews/products/{product_id}',
      summary: 'Read Reviews By Product',
      path: ProductPath,
      query: listParameters(REVIEWS),
      response: z.array(Review),
      absent: ['Product'],
    },
    ({ path, query }, scope) =>
      listResponse(reviews, listQuery(REVIEWS, query, { product_id: path.product_id }), query, scope),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_reviews_by_user_reviews_users__user_id__get',
      method: 'get',
      url: '/reviews/users/{user_id}',
      summary: 'Read Reviews By User',
      path: UserPath,
      query: listParameters(REVIEWS),
      response: z.array(Review),
      absent: ['User'],
    },
    ({ path, query }, scope) =>
      listResponse(reviews, listQuery(REVIEWS, query, { user_id: path.user_id }), query, scope),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_reviews_by_product_and_user_reviews_products__product_id__users__user_id__get',
      method: 'get',
      url: '/reviews/products/{product_id}/users/{user_id}',
      summary: 'Read Reviews By Product And User',
      path: ProductAndUserPath,
      query: listParameters(REVIEWS),
      response: z.array(Review),
      absent: ['Product', 'User'],
    },
    ({ path, query }, scope) =>
      listResponse(
        reviews,
        listQuery(REVIEWS, query, { product_id: path.product_id, user_id: path.user_id }),
        query,
        scope,
      ),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_review_reviews__review_id__get',
      method: 'get',
      url: '/reviews/{review_id}',
      summary: 'Read Review',
      path: ReviewPath,
      response: Review,
      absent: ['Review'],
    },
    ({ path }, scope) => resourceResponse(scope, 'Review', reviews.find(path.review_id)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'update_review_reviews__review_id__patch',
      method: 'patch',
      url: '/reviews/{review_id}',
      summary: 'Update Review',
      path: ReviewPath,
      body: ReviewCreate,
      response: Review,
      absent: ['Review', 'Product', 'User'],
    },
    ({ path, body }, scope) =>
      resourceResponse(scope, 'Review', reviews.update(path.review_id, body, expectedRevisions(scope.request))),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'delete_review_reviews__review_id__delete',
      method: 'delete',
      url: '/reviews/{review_id}',
      summary: 'Delete Review',
      path: ReviewPath,
      response: Review,
      absent: ['Review'],
    },
    ({ path }, scope) =>
      resourceResponse(scope, 'Review', reviews.delete(path.review_id, expectedRevisions(scope.request))),
  )
}
