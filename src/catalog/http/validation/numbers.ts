import { z } from '@hono/zod-openapi'

/** The numbers that a field takes, or the items of a list, even if it may be left out or be `null`; `null` if it takes none. */
export function numbersOf(field: z.core.$ZodType | undefined): 'integers' | 'all' | null {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault || field instanceof z.ZodNullable) {
    return numbersOf(field.unwrap())
  }
  if (field instanceof z.ZodArray) return numbersOf(field.element)
  if (!(field instanceof z.ZodNumber)) return null
  return field.isInt ? 'integers' : 'all'
}

/** Whether a parameter takes several values, even if it may be left out. */
export function isList(field: z.core.$ZodType): boolean {
  return field instanceof z.ZodArray || (field instanceof z.ZodOptional && isList(field.unwrap()))
}
