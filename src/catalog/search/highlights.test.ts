import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { rankOf } from '../../../test/harness/catalog/rank.ts'
import { highlightsOf, type TextPart } from './highlights.ts'
import { indexedWords, searchOf } from './search.ts'

/** With matches in brackets. */
function shown(q: string, name: string, description = ''): { name: string; description: string } {
  const search = searchOf(q)
  if (!search) throw new Error(`${q} has no word`)
  const highlights = highlightsOf(search, name, description)
  return { name: bracketed(highlights.name), description: bracketed(highlights.description) }
}

function bracketed(parts: readonly TextPart[]): string {
  return parts.map(({ text, match }) => (match ? `[${text}]` : text)).join('')
}

function textOf(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join('')
}

test('Whole words match, as they are written', () => {
  expect(shown('spa', 'The “Spáde”, a spade').name).toBe('The “[Spáde]”, a [spade]')
  expect(shown('spa ', 'The spade').name).toBe('The spade')
  expect(shown('strasse', 'Große Straße™').name).toBe('Große [Straße™]')
  expect(shown('spade', 'Spa\u00adde 🌾 ｓｐａｄｅ').name).toBe('[Spa\u00adde] 🌾 [ｓｐａｄｅ]')
  expect(shown('2 ', '3½ m').name).toBe('3[½] m')
})

test('A chain matches as a whole by its joined form, else by its words', () => {
  expect(shown('tshirt', 'Blue T-Shirt').name).toBe('Blue [T-Shirt]')
  expect(shown('shirt', 'Blue T-Shirt').name).toBe('Blue T-[Shirt]')
  expect(shown('t-shirt', 'Tshirt, T-shirt, shirt').name).toBe('[Tshirt], [T-shirt], [shirt]')
  expect(shown('abc b ', 'A-b-c').name).toBe('[A-b-c]')
})

test('In scripts without spaces, pairs match and are one part', () => {
  expect(shown('园铁锹', '花园铁锹好').name).toBe('花[园铁锹]好')
  expect(shown('锹', '花园铁锹').name).toBe('花园铁[锹]')
})

test('The extract begins at a word at most 40 code points before the first match, and has at most 160', () => {
  const before = '𐐨 '.repeat(50)
  const { description } = shown('spade', '', `${before}spade ${'x'.repeat(300)}`)
  expect(description).toBe(`${'𐐨 '.repeat(20)}[spade] ${'x'.repeat(114)}`)
  expect(shown('spade', '', `${'y '.repeat(50)} spade`).description).toBe(`${'y '.repeat(19)} [spade]`)
  expect(shown('spade', '', `A good spade ${'x'.repeat(300)}`).description).toBe(`A good [spade] ${'x'.repeat(147)}`)
})

test('Without a match the extract is the beginning', () => {
  expect(shown('spade', 'Spade', `"${'y '.repeat(200)}`).description).toBe(`"${'y '.repeat(79)}y`)
  expect(shown('spade', '', '')).toEqual({ name: '', description: '' })
})

test('Only words that are in the index match', () => {
  expect(shown('spade', '', `${'é '.repeat(5_000)}spade`).description).toBe('é '.repeat(80))
})

test('Parts alternate, are not empty, and together are the name and a piece of the description', () => {
  const unit = fc.constantFrom(..."aB1é-'’ 花园かン゙ก\u200d\ufe0f½🌾가ᅡ\u0301")
  const text = fc.string({ unit, maxLength: 300 })
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 5 }), text, text, (q, name, description) => {
      const search = searchOf(q)
      if (!search) return
      const highlights = highlightsOf(search, name, description)
      expect(textOf(highlights.name)).toBe(name)
      const extract = textOf(highlights.description)
      expect(description).toInclude(extract)
      expect([...extract].length).toBeLessThanOrEqual(160)
      for (const parts of [highlights.name, highlights.description]) {
        for (const [index, part] of parts.entries()) {
          expect(part.text).not.toBe('')
          expect(part.match).not.toBe(parts[index + 1]?.match ?? null)
        }
      }
      // An item that matches has a part that does, and one without a part does not match.
      const isShown = [...highlights.name, ...highlights.description].some(part => part.match)
      if (!isShown) expect(rankOf(search, indexedWords(name, description))).toBe(0)
    }),
    { numRuns: 2_000 },
  )
})
