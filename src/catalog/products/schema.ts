import { z } from '@hono/zod-openapi'
import { EmbeddedReview } from '../http/nested.ts'
import { id, text } from '../http/validation/fields.ts'
import { stricter } from '../http/validation/stricter.ts'
import { NESTED_MAX } from '../storage/resource.ts'

const product = {
  name: text({ minLength: 3, maxLength: 50 }),
  description: text(),
  price: z
    .number()
    .gt(0)
    .openapi({ description: 'In USD', ...stricter({ maximum: Number.MAX_VALUE }) }),
}

export const ProductCreate = z.object(product).openapi('ProductCreate')

export const Product = z
  .object({ id, ...product, reviews: z.array(EmbeddedReview).max(NESTED_MAX).default([]) })
  .openapi('Product')

export const Rating = z
  .object({
    average: z.number().min(1).max(5).nullable(),
    count: z.int().min(0),
    // Not `length(5)`, which is not described.
    histogram: z.array(z.int().min(0)).min(5).max(5),
    score: z.number().min(0).max(5),
  })
  .openapi('Rating')

const TextPart = z.object({ text: z.string(), match: z.boolean() })

const Highlights = z.object({ name: z.array(TextPart), description: z.array(TextPart) }).openapi('Highlights')

/** The members that a product has only for requests that choose them. */
export const FURTHER_MEMBERS = {
  category_id: id.nullable().optional(),
  rating: Rating.optional(),
  highlights: Highlights.nullable().optional(),
}

/** Only the facets that were asked for are there. */
export const Facets = z
  .object({
    count: z.int().min(0),
    category_id: z
      .array(z.object({ value: z.int().min(0), name: z.string().nullable(), count: z.int().min(0) }))
      .optional(),
    price: z
      .object({
        min: z.number().nullable(),
        max: z.number().nullable(),
        bands: z.array(z.object({ min: z.number().nullable(), max: z.number().nullable(), count: z.int().min(0) })),
      })
      .optional(),
    rating: z.array(z.object({ min: z.int(), count: z.int().min(0) })).optional(),
  })
  .openapi('Facets')

export type ProductCreate = z.output<typeof ProductCreate>
