import { z } from '@hono/zod-openapi'

export const EmbeddedProduct = z
  .object({ id: z.int(), name: z.string(), description: z.string(), price: z.number() })
  .openapi('EmbeddedProduct')

export const EmbeddedReview = z
  .object({ id: z.int(), product_id: z.int(), user_id: z.int(), rating: z.int(), comment: z.string() })
  .openapi('EmbeddedReview')

/** Neither the e-mail address nor the password: a review is public. */
export const EmbeddedUser = z.object({ id: z.int(), name: z.string(), avatar: z.string() }).openapi('EmbeddedUser')

export type EmbeddedProduct = z.infer<typeof EmbeddedProduct>
export type EmbeddedReview = z.infer<typeof EmbeddedReview>
export type EmbeddedUser = z.infer<typeof EmbeddedUser>
