import { z } from '@hono/zod-openapi'
import { EmbeddedProduct } from '../http/nested.ts'
import { id, text } from '../http/validation/fields.ts'
import { NESTED_MAX } from '../storage/resource.ts'

const category = {
  name: text({ minLength: 3, maxLength: 50 }),
  description: text({ minLength: 3, maxLength: 50 }),
}

export const CategoryCreate = z.object(category).openapi('CategoryCreate')

export const Category = z
  .object({ id, ...category, products: z.array(EmbeddedProduct).max(NESTED_MAX).default([]) })
  .openapi('Category')

export type CategoryCreate = z.output<typeof CategoryCreate>
