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
      // Not as `prefixItems`: generators of clients make a tuple of these, in which there is no second item.
      .openapi(stricter({ minItems: 1, contains: { enum: ['header', 'path', 'query', 'body'] } })),
    msg: z.string(),
    type: z.string().openapi(stricter({ enum: ERROR_TYPES })),
  })
  .openapi('ValidationError')

export const HTTPValidationError = z
  .object({ detail: z.array(ValidationError).openapi(stricter({ minItems: 1 })) })
  .openapi('HTTPValidationError')

export type ValidationError = z.infer<typeof ValidationError>

/** The errors of one input, in the words of Pydantic 2, as Zod issues that a field's own check may add. */
export const fault = {
  missing: issue('missing', 'Field required'),
  value: (reason: string) => issue('value_error', `Value error, ${reason}`),
  notJson: issue('json_invalid', 'JSON decode error'),
  notAnObject: issue('model_attributes_type', 'Input should be a valid dictionary or object to extract fields from'),
  notText: issue('string_type', 'Input should be a valid string'),
  unreadableText: issue(
    'string_unicode',
    'Input should be a valid string, unable to parse raw data as a unicode string',
  ),
  tooShort: (least: number) =>
    issue('string_too_short', `String should have at least ${least} ${plural('character', least)}`),
  tooLong: (most: number) =>
    issue('string_too_long', `String should have at most ${most} ${plural('character', most)}`),
  notAnInteger: issue('int_type', 'Input should be a valid integer'),
  fraction: issue('int_from_float', 'Input should be a valid integer, got a number with a fractional part'),
  notDigits: issue('int_parsing', 'Input should be a valid integer, unable to parse string as an integer'),
  inexact: issue('int_parsing_size', 'Unable to parse input string as an integer, exceeded maximum size'),
  notANumber: issue('float_type', 'Input should be a valid number'),
  notNumeric: issue('float_parsing', 'Input should be a valid number, unable to parse string as a number'),
  notFinite: issue('finite_number', 'Input should be a finite number'),
  notAbove: (bound: number) => issue('greater_than', `Input should be greater than ${bound}`),
  belowMinimum: (least: number) => issue('greater_than_equal', `Input should be greater than or equal to ${least}`),
  aboveMaximum: (most: number) => issue('less_than_equal', `Input should be less than or equal to ${most}`),
  notAmong: (words: readonly string[]) => issue('literal_error', `Input should be ${alternatives(words)}`),
  tooMany: (most: number, sent: number) =>
    issue('too_long', `List should have at most ${most} ${plural('item', most)} after validation, not ${sent}`),
  unknown: issue('extra_forbidden', 'Extra inputs are not permitted'),
}

type Fault = ReturnType<typeof issue>

/** Its members are in the order of the interface description, and so are those of each error. */
function issue(type: string, msg: string) {
  return { code: 'custom' as const, params: { msg, type } }
}

/** British, without a comma before the last one. */
function alternatives(words: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(words.map(word => `'${word}'`))
}

export function errorAt(loc: ValidationError['loc'], { params }: Fault): ValidationError {
  return { loc, ...params }
}

/**
 * The errors that Zod found with this schema in one part of a request, one per field or item of a list, in the order of the fields
 * and in the words of FastAPI with Pydantic 2.
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
    const isInteger = numbersOf(fields[field]) === 'integers'
    errors.set(key, errorAt([source, ...place], faultOf(found, source, { input: sent, isInteger })))
  }
  return inOrder([...errors.values()], Object.keys(fields))
}

/** Sorts errors of one part by their fields. A rule about several fields finds its error after all others. */
export function inOrder(errors: readonly ValidationError[], fields: readonly string[]): ValidationError[] {
  const placeOf = ({ loc }: ValidationError) => fields.indexOf(String(loc[1]))
  return errors.toSorted((one, other) => placeOf(one) - placeOf(other))
}

interface SentField {
  readonly input: unknown
  /** Whether the field is one for integers, which an issue does not say. */
  readonly isInteger: boolean
}

function faultOf(found: z.core.$ZodIssue, source: RequestPart, { input, isInteger }: SentField): Fault {
  if (input === undefined) return fault.missing
  switch (found.code) {
    case 'invalid_value':
      return fault.notAmong(found.values.map(String))
    case 'custom': {
      const { type, msg } = found.params ?? {}
      if (typeof type === 'string' && typeof msg === 'string') return issue(type, msg)
      break
    }
    case 'too_small':
    case 'too_big':
      if (found.code === 'too_big' && Array.isArray(input)) return fault.tooMany(Number(found.maximum), input.length)
      // An integer that a double cannot represent exactly, whatever the limits of the field.
      if (found.origin === 'int' && !Number.isSafeInteger(input)) return fault.inexact
      if (found.code === 'too_big') return fault.aboveMaximum(Number(found.maximum))
      return found.inclusive ? fault.belowMinimum(Number(found.minimum)) : fault.notAbove(Number(found.minimum))
    case 'invalid_type':
      if (source !== 'body' && typeof input === 'string') return isInteger ? fault.notDigits : fault.notNumeric
      if (found.expected === 'string') return fault.notText
      if (found.expected === 'int') return fault.fraction
      if (found.expected !== 'number') break
      if (typeof input === 'number') return fault.notFinite
      return isInteger ? fault.notAnInteger : fault.notANumber
  }
  throw new Error(`no words for the issue ${found.code} of ${source}`)
}
