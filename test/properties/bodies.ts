import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '../harness/any-character.ts'

/** A value's JSON text, because a parsed value loses `5.0`, `1e999` and `"\u0041"`. */
interface Spelled {
  readonly json: string
  readonly value: unknown
}

interface Field {
  readonly valid: Arbitrary<Spelled>
  /** A field that has one may be left out. */
  readonly fallback?: number
}

/** A body's fields, in the order of the specification's table. */
export type Shape = Readonly<Record<string, Field>>

export interface ValidBody {
  readonly json: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Any character that a text may hold: neither U+0000 nor half of a surrogate pair. */
const character = anyCharacter.filter(text => text !== '\0')

const anyLetters = fc.oneof({ weight: 9, arbitrary: letters(0, 100) }, { weight: 1, arbitrary: letters(3_000, 5_000) })

const name = text({ least: 3, most: 50 })
const anyText = text()
const rating = integer({ least: 1, most: 5 })
const off: Field = { ...integer(), fallback: 0 }

const price: Field = {
  valid: fc.double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true }).map(value => spelled(value)),
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
  user,
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

function text(bounds?: { least: number; most: number }): Field {
  const right = bounds
    ? fc.oneof(
        letters(bounds.least, bounds.most),
        letters(bounds.least, bounds.least),
        letters(bounds.most, bounds.most),
      )
    : anyLetters
  return {
    valid: fc.tuple(right, fc.boolean()).map(([value, escaped]) => ({
      json: escaped ? escapedText(value) : JSON.stringify(value),
      value,
    })),
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
  const right = bounds ? fc.integer({ min: bounds.least, max: bounds.most }) : fc.maxSafeInteger()
  return {
    valid: fc
      .tuple(right, fc.constantFrom('', '.0', 'e0', '.000E+0'))
      .map(([value, ending]) => ({ json: JSON.stringify(value) + ending, value })),
  }
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
