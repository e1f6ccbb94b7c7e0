import { z } from '@hono/zod-openapi'
import { EmbeddedProduct, EmbeddedUser } from '../http/nested.ts'
import { id, integer, text } from '../http/validation/fields.ts'

const review = {
  product_id: integer(),
  user_id: integer(),
  rating: integer().min(1).max(5),
  comment: text(),
}

export const ReviewCreate = z.object(review).openapi('ReviewCreate')

export const Review = z
  .object({ id, ...review, product_id: id, user_id: id, user: EmbeddedUser, product: EmbeddedProduct })
  .openapi('Review')

export type ReviewCreate = z.output<typeof ReviewCreate>
