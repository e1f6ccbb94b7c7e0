import { z } from '@hono/zod-openapi'
import { EmbeddedReview } from '../nested/schema.ts'
import { NESTED_MAX } from '../storage/resource.ts'
import { text } from '../validation/fields.ts'

const product = {
  name: text({ minLength: 3, maxLength: 50 }),
  description: text(),
  /** In USD. */
  price: z.number().gt(0),
}

export const ProductCreate = z.object(product).openapi('ProductCreate')

export const Product = z
  .object({ id: z.int(), ...product, reviews: z.array(EmbeddedReview).max(NESTED_MAX).default([]) })
  .openapi('Product')

export type ProductCreate = z.output<typeof ProductCreate>
export type Product = z.output<typeof Product>
