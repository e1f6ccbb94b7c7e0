import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '../harness/any-character.ts'
import { problem, type Schema } from './description.ts'

/** Members whose good values are chosen by their names: references to what exists. */
export type Known = Readonly<Record<string, Arbitrary<string>>>

type Entry = readonly [name: string, json: string]

/** Texts that have made trouble somewhere. */
const ODD_TEXTS = [
  ...['', ' ', '\t\n\r', '\\', '"', '%00', '\u0001\u001f', '\u007f\u0080', '\u2028\u2029', '\ufeff', '\uffff', '😀'],
  ...['e\u0301', '\u202e', '../..', '<script>', "'; DROP TABLE users; --", '{{7*7}}', '$1', '%s', '\\u0000', 'NaN'],
  ...['null', '__proto__', '-1', '1e999', '\u{10ffff}', 'ﷺ', 'İı', '\0', '\ud800', '\udc00x', 'a\0b', '**********'],
]

const ODD_NUMBERS = [
  ...[
    '0',
    '-0',
    '-1',
    '1',
    '5',
    '6',
    '5e-324',
    '1e-400',
    '0.1',
    '1.5',
    '5.0',
    '5e0',
    '1e21',
    '1e308',
    '1.8e308',
    '-1e999',
  ],
  ...['9007199254740991', '9007199254740992', '-9007199254740991', '-9007199254740993', '9223372036854775807'],
  ...['9223372036854775808', '2147483648', '4294967296', '123456789012345678901234567890', '1.7976931348623157e308'],
]

const oddText = fc.constantFrom(...ODD_TEXTS)

const anyText = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60, size: 'max' }) },
  { weight: 4, arbitrary: fc.tuple(fc.string({ maxLength: 20 }), oddText, fc.string({ maxLength: 20 })).map(join) },
  { weight: 1, arbitrary: fc.nat({ max: 20_000 }).map(length => 'long'.repeat(length / 4)) },
)

/** JSON of any value, as text. */
export const anyJson: Arbitrary<string> = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '[]', '{}', '""', '"5"', '[[]]', '{"a":1}'),
  fc.constantFrom(...ODD_NUMBERS),
  oddText.map(text => JSON.stringify(text)),
  fc.jsonValue({ maxDepth: 2, stringUnit: anyCharacter }).map(value => JSON.stringify(value)),
)

/** JSON that satisfies the schema, or breaks some of its rules. */
export function json(schema: Schema, known: Known): Arbitrary<string> {
  const good = goodEntries(schema, known)
  const members = Object.entries(schema.properties ?? {})
  const bad = fc
    .constantFrom(...members)
    .chain(([name, property]) => badMember(property).map((json): Entry => [name, json]))
  const left = fc.constantFrom(...members.map(([name]) => name))
  return fc.oneof(
    { weight: 12, arbitrary: good.chain(text) },
    { weight: 6, arbitrary: fc.tuple(good, bad).chain(([entries, wrong]) => text(having(entries, wrong))) },
    {
      weight: 1,
      arbitrary: fc.tuple(good, bad, bad).chain(([entries, ...wrong]) => text(wrong.reduce(having, entries))),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(good, left).chain(([entries, gone]) => text(entries.filter(([name]) => name !== gone))),
    },
    { weight: 1, arbitrary: anyJson },
  )
}

/** JSON that satisfies the schema. */
export function goodJson(schema: Schema, known: Known): Arbitrary<string> {
  return goodEntries(schema, known).chain(text)
}

function having(entries: readonly Entry[], [name, json]: Entry): readonly Entry[] {
  return [...entries.filter(entry => entry[0] !== name), [name, json]]
}

/** The members of an object that satisfies the schema. One of those that it must not lack all is required, too. */
function goodEntries(schema: Schema, known: Known): Arbitrary<readonly Entry[]> {
  const either = Object.keys(schema.not?.properties ?? {})
  return fc.constantFrom(...(either.length > 0 ? either : [''])).chain(one => {
    const required = [...(schema.required ?? []), one]
    const members = Object.entries(schema.properties ?? {}).map(([name, property]) => {
      const value = known[name] ?? goodMember(property)
      return (required.includes(name) ? value : fc.option(value, { nil: undefined, freq: 2 })).map(json => ({
        name,
        json,
      }))
    })
    return fc
      .tuple(...members)
      .map(all => all.flatMap(({ name, json }): Entry[] => (json === undefined ? [] : [[name, json]])))
  })
}

function goodMember(schema: Schema): Arbitrary<string> {
  return fc.oneof(...[schema.type ?? []].flat().map(type => ofType(type, schema))).filter(json => isGood(schema, json))
}

function badMember(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength, minimum, maximum, exclusiveMinimum } = schema
  const some = [
    ...(minLength > 0 ? [fc.string({ maxLength: minLength - 1 }).map(spelled)] : []),
    ...(maxLength !== undefined
      ? [fc.string({ minLength: maxLength + 1, maxLength: maxLength + 50 }).map(spelled)]
      : []),
    ...(minimum !== undefined ? [fc.integer({ min: 1, max: 9 }).map(under => String(minimum - under))] : []),
    ...(maximum !== undefined ? [fc.integer({ min: 1, max: 9 }).map(over => String(maximum + over))] : []),
    ...(exclusiveMinimum !== undefined ? [fc.constant(String(exclusiveMinimum))] : []),
    ...(schema.not?.const !== undefined ? [fc.constant(JSON.stringify(schema.not.const))] : []),
  ]
  return fc.oneof(anyJson, anyText.map(spelled), ...some).filter(json => !isGood(schema, json))
}

function isGood(schema: Schema, json: string): boolean {
  return problem(schema, JSON.parse(json)) === null
}

function ofType(type: string, schema: Schema): Arbitrary<string> {
  switch (type) {
    case 'null':
      return fc.constant('null')
    case 'integer': {
      const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema
      const ending = fc.constantFrom('', '', '', '.0', 'e0', '.000E+0')
      return fc.tuple(fc.maxSafeInteger(), ending).map(([value, end]) => within(value, minimum, maximum) + end)
    }
    case 'number':
      return fc.oneof(
        fc
          .double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true })
          .map(value => JSON.stringify(value)),
        fc.constantFrom(...ODD_NUMBERS),
      )
    default: {
      const { minLength = 0, maxLength, allOf = [] } = schema
      if (allOf.length > 0) return fc.stringMatching(new RegExp(allOf[0]?.pattern ?? '')).map(spelled)
      const unit = fc.constantFrom(anyCharacter, 'grapheme-ascii' as const, 'grapheme' as const)
      const chosen = unit.chain(unit => fc.string({ unit, minLength, maxLength: maxLength ?? 200, size: 'max' }))
      return fc
        .tuple(maxLength === undefined ? fc.oneof(chosen, anyText) : chosen, fc.boolean())
        .map(([value, isEscaped]) => (isEscaped ? escaped(value) : spelled(value)))
    }
  }
}

/** The range may be all that a double represents exactly, so it cannot be counted through. */
function within(value: number, minimum: number, maximum: number): string {
  if (value >= minimum && value <= maximum) return String(value)
  return String(minimum + (Math.abs(value) % (maximum - minimum + 1)))
}

/** An object of these entries and unknown ones, with white space between its tokens. */
function text(entries: readonly Entry[]): Arbitrary<string> {
  const unknown = fc.array(fc.tuple(fc.constantFrom('id', 'reviews', '__proto__', 'x', '😀', ''), anyJson), {
    maxLength: 2,
  })
  const space = fc.constantFrom('', '', ' ', '\n\t')
  return fc.tuple(unknown, space, fc.nat()).map(([more, gap, turn]) => {
    const names = new Set(entries.map(([name]) => name))
    // A member that is given twice counts as it is given last.
    const all = [...more.filter(([name]) => !names.has(name)), ...entries]
    const start = turn % Math.max(all.length, 1)
    const members = [...all.slice(start), ...all.slice(0, start)].map(
      ([name, json]) => `${spelled(name)}${gap}:${json}`,
    )
    return `${gap}{${members.join(`${gap},`)}}${gap}`
  })
}

function spelled(text: string): string {
  return JSON.stringify(text)
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  return `"${units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
}

function join(parts: readonly string[]): string {
  return parts.join('')
}
