import { expect } from 'bun:test'
import fc, { type Arbitrary } from 'fast-check'
import { z } from 'zod'
import { anyCharacter } from '../harness/any-character.ts'
import { campaign } from '../harness/campaign.ts'
import type { Answer, Client } from '../harness/client.ts'
import { onOneEngine } from '../harness/contract.ts'

const RUNS = 120

const Refusal = z.strictObject({
  detail: z.tuple([
    z.strictObject({
      loc: z.tuple([z.literal('body'), z.int().nonnegative()]),
      msg: z.literal('JSON decode error'),
      type: z.literal('json_invalid'),
    }),
  ]),
})

/** Pieces of JSON, and text that looks like them. */
const PIECES = [
  ...['{', '}', '[', ']', ':', ',', '"', '"a"', '"name":', '{"a":1}', '[]', '{}', '""'],
  ...['0', '1', '-', '-1', '01', '+1', '1.', '.5', '1.5', 'e', '1e5', '1E+', '0x1', 'Infinity', '-Infinity', 'NaN'],
  ...['true', 'false', 'null', 'tru', 'True', 'undefined', "'a'", '`', '//', '/* */', '#', '@', ';'],
  ...['\\', '"\\', '"\\u00', '"\\u0041"', '"\\x41"', '"\\ud83d"', '"\t"', '"\n"', '"\u007f"', '"\u2028"', '\0'],
  ...[' ', '\t', '\n', '\r', '\f', '\v', '\u00a0', '\u2003', '\u3000', '\u0085', '😀', 'é', '"😀"'],
]

onOneEngine('any text as a body', api => {
  campaign('any text as a body is json_invalid exactly if JSON.parse throws, at a place within it', async effort => {
    const text = fc.oneof(pieces(), damagedJson(), fc.string({ unit: anyCharacter, minLength: 1 }), json().map(join))
    const property = fc.asyncProperty(text.filter(isComparable), async body => {
      const answer = await post(api, body)
      if (parses(body)) {
        expect(JSON.stringify(answer.body)).not.toContain('json_invalid')
      } else {
        expect(answer.status).toBe(422)
        expect(Refusal.parse(answer.body).detail[0].loc[1]).toBeLessThanOrEqual([...body].length)
      }
    })
    await fc.assert(property, effort.runs(RUNS))
  })

  campaign(
    'a character between two JSON tokens that JSON does not have is reported with its place in code points',
    async effort => {
      const split = fc.tuple(json(), fc.nat(), fc.constantFrom('@', '\u00a0', '😀', "'", '/', 'N', '\\', ';'))
      const property = fc.asyncProperty(split, async ([tokens, at, stranger]) => {
        const place = at % (tokens.length + 1)
        const before = join(tokens.slice(0, place))
        const answer = await post(api, before + stranger + join(tokens.slice(place)))
        expect(answer.status).toBe(422)
        expect(Refusal.parse(answer.body).detail[0].loc[1]).toBe([...before].length)
      })
      await fc.assert(property, effort.runs(RUNS))
    },
  )

  campaign('JSON that breaks off between two tokens is reported with its end as the place', async effort => {
    const property = fc.asyncProperty(json(), fc.nat(), async (tokens, at) => {
      // A value of one token cannot break off, but an unclosed one can.
      const open = ['[', ...tokens]
      const before = join(open.slice(0, 1 + (at % open.length)))
      const answer = await post(api, before)
      expect(answer.status).toBe(422)
      expect(Refusal.parse(answer.body).detail[0].loc[1]).toBe([...before].length)
    })
    await fc.assert(property, effort.runs(RUNS))
  })

  campaign('a body whose bytes are not UTF-8 is json_invalid, whatever is around them', async effort => {
    const wrong = fc.constantFrom([0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82])
    const property = fc.asyncProperty(json(), fc.nat(), wrong, async (tokens, at, bytes) => {
      const place = at % (tokens.length + 1)
      const [before, after] = [join(tokens.slice(0, place)), join(tokens.slice(place))]
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
      const answer = await post(api, body)
      expect(answer.status).toBe(422)
      Refusal.parse(answer.body)
    })
    await fc.assert(property, effort.runs(RUNS))
  })
})

/** JSON of any value as its tokens, with any white space between them. */
function json(): Arbitrary<string[]> {
  const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r'), maxLength: 2 })
  return fc
    .tuple(fc.jsonValue({ maxDepth: 3, stringUnit: anyCharacter }), fc.array(space, { minLength: 1, maxLength: 5 }))
    .map(([value, spaces]) => tokensOf(value).flatMap((token, index) => [token, spaces[index % spaces.length] ?? '']))
    .map(tokens => tokens.filter(token => token !== ''))
}

function tokensOf(value: unknown): string[] {
  if (Array.isArray(value)) return ['[', ...value.flatMap((item, index) => [...comma(index), ...tokensOf(item)]), ']']
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).flatMap(([key, member], index) => [
      ...comma(index),
      JSON.stringify(key),
      ':',
      ...tokensOf(member),
    ])
    return ['{', ...members, '}']
  }
  return [JSON.stringify(value)]
}

function comma(index: number): string[] {
  return index === 0 ? [] : [',']
}

function pieces(): Arbitrary<string> {
  return fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 12 }).map(join)
}

/** JSON of which a few characters are cut out or replaced. */
function damagedJson(): Arbitrary<string> {
  return fc
    .tuple(json().map(join), fc.nat(), fc.nat({ max: 3 }), fc.option(fc.constantFrom(...PIECES), { nil: '' }))
    .map(([text, at, length, piece]) => {
      const start = at % text.length
      return text.slice(0, start) + piece + text.slice(start + length)
    })
    .filter(text => text !== '')
}

function join(parts: readonly string[]): string {
  return parts.join('')
}

/** Text that is unchanged after encoding. A byte order mark may be ignored (RFC 8259, 8.1). */
function isComparable(text: string): boolean {
  return text.isWellFormed() && !text.startsWith('\ufeff')
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function post(api: Client, body: string | Uint8Array<ArrayBuffer>): Promise<Answer> {
  return api.send('/categories/', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })
}
