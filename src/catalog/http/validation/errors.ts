import { z } from '@hono/zod-openapi'
import { plural } from '../../../plural.ts'
import { numbersOf } from './numbers.ts'
import { stricter } from './stricter.ts'

/** The part of the request that an input comes from: the first item of an error's `loc`. */
export type RequestPart = 'path' | 'query' | 'body'

/** In the words of Pydantic 2. */
const ERROR_TYPES = [
  ...['missing', 'value_error', 'json_invalid', 'model_attributes_type'],
  ...['string_type', 'string_unicode', 'string_too_short', 'string_too_long'],
  ...['int_type', 'int_from_float', 'int_parsing', 'int_parsing_size', 'float_type', 'finite_number'],
  ...['greater_than', 'greater_than_equal', 'less_than_equal'],
  ...['literal_error', 'float_parsing', 'too_long', 'extra_forbidden'],
]

export const ValidationError = z
  .object({
    loc: z
      .array(z.union([z.string(), z.int()]))
      .openapi(stricter({ minItems: 1, prefixItems: [{ enum: ['header', 'path', 'query', 'body'] }] })),
    msg: z.string(),
    type: z.string().openapi(stricter({ enum: ERROR_TYPES })),
  })
  .openapi('ValidationError')

export const HTTPValidationError = z
  .object({ detail: z.array(ValidationError).openapi(stricter({ minItems: 1 })) })
  .openapi('HTTPValidationError')

export type ValidationError = z.infer<typeof ValidationError>

/** An error in one input, in the words of Pydantic 2. */
interface Fault {
  readonly type: string
  readonly msg: string
}

/** Errors that a field's own check finds, as Zod issues. */
export const fault = {
  unreadableText: issue({
    type: 'string_unicode',
    msg: 'Input should be a valid string, unable to parse raw data as a unicode string',
  }),
  tooShort: (least: number) =>
    issue({ type: 'string_too_short', msg: `String should have at least ${least} ${plural('character', least)}` }),
  tooLong: (most: number) =>
    issue({ type: 'string_too_long', msg: `String should have at most ${most} ${plural('character', most)}` }),
  belowMinimum: (least: number) => issue(belowMinimum(least)),
  value: (reason: string) => issue({ type: 'value_error', msg: `Value error, ${reason}` }),
}

/** The error of a body that cannot be read at all. It is the only one. */
export const unreadableBody = {
  missing: (): ValidationError => ({ loc: ['body'], msg: MISSING.msg, type: MISSING.type }),
  notAnObject: (): ValidationError => ({
    loc: ['body'],
    msg: 'Input should be a valid dictionary or object to extract fields from',
    type: 'model_attributes_type',
  }),
  /** `offset` counts characters from the beginning of the body. */
  notJson: (offset: number): ValidationError => ({
    loc: ['body', offset],
    msg: 'JSON decode error',
    type: 'json_invalid',
  }),
}

/** The errors of parameters that Zod does not look at. */
export const wrongParameter = {
  value: (name: string, reason: string): ValidationError => ({
    loc: ['query', name],
    msg: `Value error, ${reason}`,
    type: 'value_error',
  }),
  above: (name: string, most: number): ValidationError => ({ loc: ['query', name], ...aboveMaximum(most) }),
  unknown: (name: string): ValidationError => ({
    loc: ['query', name],
    msg: 'Extra inputs are not permitted',
    type: 'extra_forbidden',
  }),
}

/**
 * The errors that Zod found with this schema in one part of a request, one per field or item of a list, in the words of FastAPI
 * with Pydantic 2.
 */
export function validationErrors(
  issues: readonly z.core.$ZodIssue[],
  source: RequestPart,
  input: Readonly<Record<string, unknown>>,
  schema: z.core.$ZodType,
): ValidationError[] {
  const fields = schema instanceof z.ZodObject ? schema.shape : {}
  const errors = new Map<string, ValidationError>()
  for (const found of issues) {
    const field = String(found.path[0])
    const at = found.path[1]
    const place = typeof at === 'number' ? [field, at] : [field]
    const key = place.join()
    if (errors.has(key)) continue
    const value = input[field]
    const sent = typeof at === 'number' && Array.isArray(value) ? value[at] : value
    errors.set(key, {
      loc: [source, ...place],
      ...faultOf(found, source, { input: sent, isInteger: numbersOf(fields[field]) === 'integers' }),
    })
  }
  return [...errors.values()]
}

const MISSING: Fault = { type: 'missing', msg: 'Field required' }
const NOT_FINITE: Fault = { type: 'finite_number', msg: 'Input should be a finite number' }
const TOO_LARGE: Fault = {
  type: 'int_parsing_size',
  msg: 'Unable to parse input string as an integer, exceeded maximum size',
}
const FRACTION: Fault = {
  type: 'int_from_float',
  msg: 'Input should be a valid integer, got a number with a fractional part',
}
const NOT_AN_INTEGER: Fault = { type: 'int_type', msg: 'Input should be a valid integer' }
const NOT_A_NUMBER: Fault = { type: 'float_type', msg: 'Input should be a valid number' }
const NOT_A_STRING: Fault = { type: 'string_type', msg: 'Input should be a valid string' }
const NOT_DIGITS: Fault = {
  type: 'int_parsing',
  msg: 'Input should be a valid integer, unable to parse string as an integer',
}

const NOT_NUMERIC: Fault = {
  type: 'float_parsing',
  msg: 'Input should be a valid number, unable to parse string as a number',
}

interface SentField {
  readonly input: unknown
  /** Whether the field is one for integers, which an issue does not say. */
  readonly isInteger: boolean
}

function faultOf(found: z.core.$ZodIssue, source: RequestPart, { input, isInteger }: SentField): Fault {
  if (input === undefined) return MISSING
  switch (found.code) {
    case 'invalid_value':
      return notAmong(found.values.map(String))
    case 'custom': {
      const { type, msg } = found.params ?? {}
      if (typeof type === 'string' && typeof msg === 'string') return { type, msg }
      break
    }
    case 'too_small':
      if (typeof input === 'number' && !isExact(found, input)) return TOO_LARGE
      return found.inclusive ? belowMinimum(Number(found.minimum)) : notAbove(Number(found.minimum))
    case 'too_big':
      if (Array.isArray(input)) return tooMany(Number(found.maximum), input.length)
      if (typeof input === 'number' && !isExact(found, input)) return TOO_LARGE
      return aboveMaximum(Number(found.maximum))
    case 'invalid_type':
      if (source !== 'body' && typeof input === 'string') return isInteger ? NOT_DIGITS : NOT_NUMERIC
      if (found.expected === 'string') return NOT_A_STRING
      if (found.expected === 'int') return FRACTION
      if (found.expected !== 'number') break
      if (typeof input === 'number') return NOT_FINITE
      return isInteger ? NOT_AN_INTEGER : NOT_A_NUMBER
  }
  throw new Error(`no words for the issue ${found.code} of ${source}`)
}

/** Zod reports an integer that a double cannot represent exactly as too small or too big, like a limit of the field. */
function isExact(found: z.core.$ZodIssue, input: number): boolean {
  return !('origin' in found && found.origin === 'int') || Number.isSafeInteger(input)
}

function belowMinimum(least: number): Fault {
  return { type: 'greater_than_equal', msg: `Input should be greater than or equal to ${least}` }
}

function aboveMaximum(most: number): Fault {
  return { type: 'less_than_equal', msg: `Input should be less than or equal to ${most}` }
}

function tooMany(most: number, sent: number): Fault {
  return {
    type: 'too_long',
    msg: `List should have at most ${most} ${plural('item', most)} after validation, not ${sent}`,
  }
}

function notAbove(bound: number): Fault {
  return { type: 'greater_than', msg: `Input should be greater than ${bound}` }
}

function notAmong(words: readonly string[]): Fault {
  const quoted = words.map(word => `'${word}'`)
  const all = [quoted.slice(0, -1).join(', '), quoted.at(-1)].filter(part => part !== '').join(' or ')
  return { type: 'literal_error', msg: `Input should be ${all}` }
}

function issue(params: Fault) {
  return { code: 'custom' as const, params: { ...params } }
}
