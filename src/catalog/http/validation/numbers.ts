import { z } from '@hono/zod-openapi'

/** The numbers that a field takes, even if it may be left out, be `null`, be a list or be changed; `null` if it takes none. */
export function numbersOf(field: z.core.$ZodType | undefined): 'integers' | 'all' | null {
  if (field instanceof z.ZodArray) return numbersOf(field.element)
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault || field instanceof z.ZodNullable) {
    return numbersOf(field.unwrap())
  }
  if (field instanceof z.ZodPipe) return numbersOf(field.in)
  if (!(field instanceof z.ZodNumber)) return null
  return field.isInt ? 'integers' : 'all'
}

/** Whether a field takes a list of values, even if it may be left out. */
export function isList(field: z.core.$ZodType): boolean {
  return field instanceof z.ZodArray || (field instanceof z.ZodOptional && isList(field.unwrap()))
}
