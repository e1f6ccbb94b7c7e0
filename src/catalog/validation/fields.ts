import { z } from '@hono/zod-openapi'
import { countCodePoints } from '../../text/code-points.ts'
import { fault, NOT_AN_INTEGER } from './errors.ts'

/** The largest integer that JSON clients and this program hold exactly: 2^53 − 1. */
const INTEGER_MAX = Number.MAX_SAFE_INTEGER

interface TextBounds {
  readonly minLength: number
  readonly maxLength: number
}

/** Text that every engine can store, its length counted in Unicode code points as Python counts it. */
export function text(bounds?: TextBounds) {
  const field = z.string().superRefine((value, context) => {
    if (!value.isWellFormed() || value.includes('\0')) return context.addIssue(fault.unreadableText)
    if (!bounds) return
    const length = countCodePoints(value)
    if (length < bounds.minLength) context.addIssue(fault.tooShort(bounds.minLength))
    if (length > bounds.maxLength) context.addIssue(fault.tooLong(bounds.maxLength))
  })
  return bounds ? field.openapi({ ...bounds }) : field
}

/** A whole number within what a double holds exactly; `5.0` is one. */
export function integer() {
  return z.int({ error: NOT_AN_INTEGER.msg })
}

/** How many items to pass over or to answer; too large to be exact acts as the largest. */
export function pageNumber(fallback: number) {
  return integer().superRefine(notNegative).default(fallback)
}

/** The id after which a list begins. */
export function cursor() {
  return integer().superRefine(notNegative).optional()
}

/**
 * The integer that a path or a query spells: an optional sign and ASCII digits, nothing else.
 * Other text stays text, for the schema to refuse.
 */
export function spelledInteger(value: string): number | string {
  if (!/^[+-]?[0-9]+$/.test(value)) return value
  return Math.min(Math.max(Number(value), -INTEGER_MAX), INTEGER_MAX)
}

/** A check and not `min(0)`: the interface description carries no bound that the specification does not give. */
function notNegative(value: number, context: z.core.$RefinementCtx<number>): void {
  if (value < 0) context.addIssue(fault.belowMinimum(0))
}
