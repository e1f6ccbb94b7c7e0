import { z } from '@hono/zod-openapi'
import { countCodePoints } from '../../../limits/code-points.ts'
import { fault } from './errors.ts'
import { stricter } from './stricter.ts'

/** The largest integer that JSON clients and this program represent exactly: 2^53 − 1. */
const INTEGER_MAX = Number.MAX_SAFE_INTEGER

const UNPAIRED = String.raw`[^\u0000\uD800-\uDFFF]*`

/**
 * Neither U+0000 nor a lone surrogate. JSON Schema reads patterns in Unicode mode, in which pairs of surrogates are characters;
 * the pairs are for generated validators without it, which would refuse an emoji.
 */
const STORABLE_TEXT = String.raw`^${UNPAIRED}([\uD800-\uDBFF][\uDC00-\uDFFF]${UNPAIRED})*$`

interface TextBounds {
  readonly minLength: number
  readonly maxLength: number
}

/** Text that every engine can store. Its length is in Unicode code points, as in Python. `rules` are for `stricter`. */
export function text(bounds?: TextBounds, rules?: Readonly<Record<string, unknown>>) {
  const field = z.string().superRefine((value, context) => {
    // A copy, because Zod keeps the text in it.
    if (!value.isWellFormed() || value.includes('\0')) return context.addIssue({ ...fault.unreadableText })
    if (!bounds) return
    const length = countCodePoints(value)
    if (length < bounds.minLength) context.addIssue(fault.tooShort(bounds.minLength))
    if (length > bounds.maxLength) context.addIssue(fault.tooLong(bounds.maxLength))
  })
  return field.openapi({ ...bounds, ...stricter({ pattern: STORABLE_TEXT, ...rules }) })
}

/** A whole number that a double represents exactly; `5.0` is one. */
export function integer() {
  return z.int().openapi(stricter({ minimum: -INTEGER_MAX, maximum: INTEGER_MAX }))
}

/** An id, or a number of items, in a query. Not `min(0)`, because the specified interface description has no such limit. */
export function notNegative() {
  return z
    .int()
    .superRefine((value, context) => {
      if (value < 0) context.addIssue(fault.belowMinimum(0))
    })
    .openapi(stricter({ minimum: 0 }))
}

/** Values in a query: separated by commas, or in a parameter that is repeated, or both. */
export function valueList<Item extends z.ZodType>(item: Item, valuesMax: number) {
  return z
    .array(item)
    .max(valuesMax)
    .openapi(stricter({ minItems: 1 }))
}

/** Text in a query that is only looked at. It may have any character. */
export function anyText(maxLength: number) {
  return z
    .string()
    .superRefine((value, context) => {
      if (countCodePoints(value) > maxLength) context.addIssue(fault.tooLong(maxLength))
    })
    .openapi({ maxLength })
}

/** An id in a response. */
export const id: z.ZodInt = z.int().openapi(stricter({ minimum: 1, maximum: INTEGER_MAX }))

/**
 * Parses an integer in a path or query: an optional sign and ASCII digits, nothing else. One that is too large to be exact acts
 * as the largest. Other text is returned unchanged, and the schema rejects it.
 */
export function spelledInteger(value: string): number | string {
  if (!/^[+-]?[0-9]+$/.test(value)) return value
  return Math.min(Math.max(Number(value), -INTEGER_MAX), INTEGER_MAX)
}

/** Parses a number in a query: as in JSON, with an optional plus. Other text is returned unchanged. */
export function spelledNumber(value: string): number | string {
  return /^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(value) ? Number(value) : value
}
