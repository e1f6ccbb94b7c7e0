import type { Catalog, LinesContract } from '../http/operation.ts'
import { resourceOperations } from '../http/resource-operations.ts'
import type { ResourceStore } from '../storage/store.ts'
import { Review, ReviewCreate } from './schema.ts'
import { REVIEWS, type ReviewRow } from './stored.ts'

export function addReviews(catalog: Catalog, store: ResourceStore<ReviewRow>, lines: LinesContract): void {
  const { list, create, find, update, remove } = resourceOperations(catalog, {
    resource: REVIEWS,
    store,
    tag: 'Reviews',
    url: '/reviews/{review_id}',
    shape: Review,
  })

  list('read_reviews', '/reviews/', 'selectable')
  create('create_review', '/reviews/', { body: ReviewCreate, lines }, body => body)

  list('read_reviews_by_product', '/reviews/products/{product_id}', 'selectable')
  list('read_reviews_by_user', '/reviews/users/{user_id}', 'selectable')
  list('read_reviews_by_product_and_user', '/reviews/products/{product_id}/users/{user_id}', 'in pages')

  find('read_review')
  update('update_review', { method: 'patch', body: ReviewCreate }, body => body)
  remove('delete_review')
}
