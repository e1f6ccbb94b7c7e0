import { z } from '@hono/zod-openapi'

/** The numbers that a field takes, even if it may be left out or be `null`; `null` if it takes none. */
export function numbersOf(field: z.core.$ZodType | undefined): 'integers' | 'all' | null {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault || field instanceof z.ZodNullable) {
    return numbersOf(field.unwrap())
  }
  if (!(field instanceof z.ZodNumber)) return null
  return field.isInt ? 'integers' : 'all'
}
