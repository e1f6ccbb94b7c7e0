import { expect } from 'bun:test'
import fc, { type Arbitrary } from 'fast-check'

/** A value's JSON text, because a parsed value loses `5.0`, `1e999` and `"\u0041"`. */
interface Spelled {
  readonly json: string
  readonly value: unknown
}

/** A field's error in Pydantic's words. Without JSON, the field is left out. */
interface Fault {
  readonly json?: string
  readonly type: string
  readonly msg: unknown
}

interface Field {
  readonly valid: Arbitrary<Spelled>
  readonly faults: Arbitrary<Fault>
  /** A field that has one may be left out. */
  readonly fallback?: number
}

/** A body's fields, in the order of the specification's table. */
export type Shape = Readonly<Record<string, Field>>

export interface ValidBody {
  readonly json: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface InvalidBody {
  readonly json: string
  /** All errors the service must report. */
  readonly detail: readonly { readonly loc: readonly string[]; readonly msg: unknown; readonly type: string }[]
}

const MISSING: Fault = { type: 'missing', msg: 'Field required' }

/** Any character that a text may hold: neither U+0000 nor half of a surrogate pair. */
const character = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter(text => text !== '\0')

const anyLetters = fc.oneof({ weight: 9, arbitrary: letters(0, 100) }, { weight: 1, arbitrary: letters(3_000, 5_000) })

const name = text({ least: 3, most: 50 })
const anyText = text()
const rating = integer({ least: 1, most: 5 })
const off: Field = { ...integer(), fallback: 0 }

const price: Field = {
  valid: fc.double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true }).map(value => spelled(value)),
  faults: fc.oneof(
    otherThan('number').map(json => ({ json, type: 'float_type', msg: 'Input should be a valid number' })),
    infinite(),
    fc
      .oneof(
        fc.constantFrom('0', '-0', '0.0', '-1e-999', '1e-999', '-5e-324'),
        fc.double({ max: 0, noNaN: true, noDefaultInfinity: true }).map(value => JSON.stringify(value)),
      )
      .map(json => ({ json, type: 'greater_than', msg: 'Input should be greater than 0' })),
  ),
}

/** The service's message about the mask is its own; only its beginning is Pydantic's. */
const maskedPassword: Fault = {
  json: '"**********"',
  type: 'value_error',
  msg: expect.stringMatching(/^Value error, /),
}

const user = {
  name,
  email: name,
  avatar: anyText,
  password: anyText,
  is_active: { ...off, fallback: 1 },
  is_admin: off,
  is_banned: off,
  is_blocked: off,
  is_deleted: off,
  is_suspended: off,
  is_verified: off,
}

/** The specification's tables of the fields of a create. */
export const shapes = {
  category: { name, description: name },
  product: { name, description: anyText, price },
  review: { product_id: integer(), user_id: integer(), rating, comment: anyText },
  user: {
    ...user,
    password: { ...anyText, faults: fc.oneof(anyText.faults, fc.constant(maskedPassword)) },
  },
  /** An update takes the mask as "keep it". */
  userUpdate: user,
} satisfies Record<string, Shape>

/** A review of a certain product by a certain user. */
export function reviewOf(productId: number, userId: number): Shape {
  const exactly = (value: number): Field => ({ ...integer(), valid: fc.constant(spelled(value)) })
  return { ...shapes.review, product_id: exactly(productId), user_id: exactly(userId) }
}

/** Bodies that the service must accept, with unknown fields, in any order. */
export function validBody(shape: Shape): Arbitrary<ValidBody> {
  const fields = Object.entries(shape).map(([key, { valid, fallback }]) =>
    fallback === undefined
      ? valid.map(({ json, value }) => ({ entry: entryOf(key, json), value }))
      : fc
          .option(valid, { nil: undefined })
          .map(given => ({ entry: entryOf(key, given?.json), value: given ? given.value : fallback })),
  )
  return fc.tuple(fc.tuple(...fields), unknownEntries(shape), fc.nat()).map(([known, unknown, seed]) => ({
    json: objectOf([...known.map(({ entry }) => entry), ...unknown], seed),
    fields: Object.fromEntries(Object.keys(shape).map((key, index) => [key, known[index]?.value])),
  }))
}

/** Bodies with at least one wrong field whose error is known. */
export function invalidBody(shape: Shape): Arbitrary<InvalidBody> {
  const keys = Object.keys(shape)
  const fields = Object.entries(shape).map(([key, { valid, faults, fallback }]) =>
    fc.record({
      valid: valid.map(({ json }) => entryOf(key, json)),
      fault: fallback === undefined ? fc.oneof({ weight: 5, arbitrary: faults }, fc.constant(MISSING)) : faults,
    }),
  )
  const damaged = fc.subarray(keys, { minLength: 1 })
  return fc
    .tuple(fc.tuple(...fields), damaged, unknownEntries(shape), fc.nat())
    .map(([known, wrongKeys, unknown, seed]) => {
      const detail: { loc: string[]; msg: unknown; type: string }[] = []
      const entries = known.map(({ valid, fault: { json, type, msg } }, index) => {
        const key = keys[index] ?? ''
        if (!wrongKeys.includes(key)) return valid
        detail.push({ loc: ['body', key], msg, type })
        return entryOf(key, json)
      })
      return { json: objectOf([...entries, ...unknown], seed), detail }
    })
}

function text(bounds?: { least: number; most: number }): Field {
  const right = bounds
    ? fc.oneof(
        letters(bounds.least, bounds.most),
        letters(bounds.least, bounds.least),
        letters(bounds.most, bounds.most),
      )
    : anyLetters
  const faults: Arbitrary<Fault>[] = [
    otherThan('string').map(json => ({ json, type: 'string_type', msg: 'Input should be a valid string' })),
    fc
      .tuple(letters(0, 20), fc.constantFrom('\0', '\ud83d', '\ude00', '\udfff\ud800'), letters(0, 20))
      .map(([before, bad, after]) => ({
        json: JSON.stringify(before + bad + after),
        type: 'string_unicode',
        msg: 'Input should be a valid string, unable to parse raw data as a unicode string',
      })),
  ]
  if (bounds) {
    faults.push(
      letters(0, bounds.least - 1).map(value => ({
        json: JSON.stringify(value),
        type: 'string_too_short',
        msg: `String should have at least ${bounds.least} characters`,
      })),
      letters(bounds.most + 1, bounds.most + 50).map(value => ({
        json: JSON.stringify(value),
        type: 'string_too_long',
        msg: `String should have at most ${bounds.most} characters`,
      })),
    )
  }
  return {
    valid: fc.tuple(right, fc.boolean()).map(([value, escaped]) => ({
      json: escaped ? escapedText(value) : JSON.stringify(value),
      value,
    })),
    faults: fc.oneof(...faults),
  }
}

/** Text of that many code points. */
function letters(minLength: number, maxLength: number): Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: character, minLength, maxLength, size: 'max' }),
    fc.string({ unit: 'grapheme-ascii', minLength, maxLength, size: 'max' }),
  )
}

function integer(bounds?: { least: number; most: number }): Field {
  const faults: Arbitrary<Fault>[] = [
    otherThan('number').map(json => ({ json, type: 'int_type', msg: 'Input should be a valid integer' })),
    infinite(),
    fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }).map(value => ({
      json: JSON.stringify(value),
      type: 'int_from_float',
      msg: 'Input should be a valid integer, got a number with a fractional part',
    })),
    fc
      .tuple(
        fc.bigInt({ min: 2n ** 53n, max: 10n ** 40n }),
        fc.constantFrom('', '-'),
        fc.constantFrom('', '.0', 'e200'),
      )
      .map(([size, sign, ending]) => ({
        json: `${sign}${size}${ending}`,
        type: 'int_parsing_size',
        msg: 'Unable to parse input string as an integer, exceeded maximum size',
      })),
  ]
  if (bounds) {
    faults.push(
      fc.integer({ min: Number.MIN_SAFE_INTEGER, max: bounds.least - 1 }).map(value => ({
        json: JSON.stringify(value),
        type: 'greater_than_equal',
        msg: `Input should be greater than or equal to ${bounds.least}`,
      })),
      fc.integer({ min: bounds.most + 1, max: Number.MAX_SAFE_INTEGER }).map(value => ({
        json: JSON.stringify(value),
        type: 'less_than_equal',
        msg: `Input should be less than or equal to ${bounds.most}`,
      })),
    )
  }
  const right = bounds ? fc.integer({ min: bounds.least, max: bounds.most }) : fc.maxSafeInteger()
  return {
    valid: fc
      .tuple(right, fc.constantFrom('', '.0', 'e0', '.000E+0'))
      .map(([value, ending]) => ({ json: JSON.stringify(value) + ending, value })),
    faults: fc.oneof(...faults),
  }
}

/** `1e999` and the like. */
function infinite(): Arbitrary<Fault> {
  return fc
    .constantFrom('1e999', '-1e999', '1.8e308', '9'.repeat(400))
    .map(json => ({ json, type: 'finite_number', msg: 'Input should be a finite number' }))
}

/** JSON of any value but those of one type. */
function otherThan(type: 'string' | 'number'): Arbitrary<string> {
  return fc
    .oneof(
      fc.constantFrom(null, true, false, 0, 1, '', '5', '5.0', 'abc', '****', [], {}),
      fc.jsonValue({ maxDepth: 2 }),
    )
    .filter(value => typeof value !== type)
    .map(value => JSON.stringify(value))
}

function spelled(value: number): Spelled {
  return { json: JSON.stringify(value), value }
}

function escapedText(value: string): string {
  const units = Array.from({ length: value.length }, (_, index) => value.charCodeAt(index))
  return `"${units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
}

function unknownEntries(shape: Shape): Arbitrary<string[]> {
  const key = fc
    .oneof(fc.constantFrom('id', 'products', 'reviews', 'Name', '__proto__', 'constructor', 'toString'), fc.string())
    .filter(candidate => !Object.hasOwn(shape, candidate))
  const entry = fc
    .tuple(key, fc.jsonValue({ maxDepth: 2 }))
    .map(([name, value]) => entryOf(name, JSON.stringify(value)))
  return fc.array(entry, { maxLength: 3 })
}

function entryOf(key: string, json: string | undefined): string {
  return json === undefined ? '' : `${JSON.stringify(key)}:${json}`
}

/** A JSON object of the entries in an order that the seed gives. */
function objectOf(entries: readonly string[], seed: number): string {
  const given = entries.filter(entry => entry !== '')
  const start = given.length === 0 ? 0 : seed % given.length
  return `{${[...given.slice(start), ...given.slice(0, start)].join(',')}}`
}
