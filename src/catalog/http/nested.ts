import { z } from '@hono/zod-openapi'
import { id } from './validation/fields.ts'

export const EmbeddedProduct = z
  .object({ id, name: z.string(), description: z.string(), price: z.number().openapi({ description: 'In USD' }) })
  .openapi('EmbeddedProduct')

export const EmbeddedReview = z
  .object({ id, product_id: id, user_id: id, rating: z.int(), comment: z.string() })
  .openapi('EmbeddedReview')

/** Neither the e-mail address nor the password: a review is public. */
export const EmbeddedUser = z.object({ id, name: z.string(), avatar: z.string() }).openapi('EmbeddedUser')
