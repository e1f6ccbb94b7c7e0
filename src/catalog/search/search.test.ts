import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { rankOf } from '../../../test/harness/catalog/rank.ts'
import { indexedWords, type Search, searchOf, sortKey, type Unit } from './search.ts'

const UNIT = fc.constantFrom(..."aB1é-'’ 花园かン゙ก\u200d\ufe0f½🌾 ")
const TEXT = fc.string({ unit: UNIT, maxLength: 40 })

function rank(q: string, name: string, text = ''): number {
  return rankOf(searchFor(q), indexedWords(name, text))
}

function searchFor(q: string): Search {
  const search = searchOf(q)
  if (!search) throw new Error(`${q} has no word`)
  return search
}

function pairs(run: readonly string[]): string[] {
  return run.slice(1).map((letter, at) => `${run[at]}${letter}`)
}

test('A text without a word is no search', () => {
  expect(['', '!!!', ' - ', '🌾', '\u0301'].map(searchOf)).toEqual([null, null, null, null, null])
})

test('Every word must match, anywhere in name and text', () => {
  expect(rank('steel spade ', 'Spade', 'of steel')).toBe(1)
  expect(rank('steel spade ', 'Spade of steel')).toBe(2)
  expect(rank('spade of ', 'Spade of steel')).toBe(3)
  expect(rank('iron spade ', 'Spade', 'of steel')).toBe(0)
})

test('The last word is a prefix unless a separator follows', () => {
  expect(rank('spade', 'Spadework')).toBe(3)
  expect(rank('spade ', 'Spadework')).toBe(0)
  expect(rank('spade-', 'Spadework')).toBe(0)
  expect(rank('spad work', 'Spade work')).toBe(0)
})

test('A chain matches by its words or by its joined form', () => {
  for (const q of ['t-shirt ', 't-shirt', 't-shi', 'T‑Shirt']) {
    expect([rank(q, 'T-shirt'), rank(q, 'Tshirt'), rank(q, 'shirt')]).toEqual([3, 2, 0])
  }
  expect([rank('tshirt ', 'T-shirt'), rank('tshi', 'T-shirt'), rank('tshirt', 'Tshirt')]).toEqual([2, 2, 3])
  expect(rank('t-shirt blue', 'Tshirt, blue')).toBe(2)
  expect(rank('mens', 'Men’s boots')).toBe(2)
})

test('Quotes and operators of query languages mean nothing', () => {
  expect(searchOf('"spade*" OR name:^x + (\' --')).toEqual(searchOf('spade or name x '))
})

test('A run matches where all its pairs are, and one character wherever it is', () => {
  expect(['花园铁锹', '花园铁', '园铁 ', '锹', '锹 ', '花', '铁', '铁园'].map(q => rank(q, '花园铁锹'))).toEqual([
    3, 3, 2, 2, 2, 3, 2, 0,
  ])
  expect(rank('花园 铁', '花园 铁锹')).toBe(3)
  expect(searchOf('花园')).toEqual({ units: [[[{ text: '花园', isPrefix: false }]]], beginning: '花园', isOpen: false })
  expect(searchOf('花 ')).toEqual({ units: [[[{ text: '花', isPrefix: true }]]], beginning: '花', isOpen: true })
  expect(rank('手机', '手-机')).toBe(2)
})

test('Only the first 16 words count, and the rest of a chain only in its joined form', () => {
  const fifteen = 'a b c d e f g h i j k l m n o'
  const search = searchFor(`${fifteen} p-q-r s`)
  expect([search.beginning, search.isOpen]).toEqual([`${fifteen} p`, false])
  const unit: Unit = [[{ text: 'p', isPrefix: false }], [{ text: 'pqr', isPrefix: false }]]
  expect(search.units[15]).toEqual(unit)
  expect(search.units).toHaveLength(16)
  expect(searchFor(`${fifteen} p`).isOpen).toBe(true)
  const run = [...'一二三四五六七八九十百千万億兆京垓秭']
  const [, [words, joined] = []] = searchFor(`a 〇-${run.join('')}`).units
  expect(words?.map(term => term.text)).toEqual(['〇', ...pairs(run).slice(0, 14)])
  expect(joined?.map(term => term.text)).toEqual(pairs(['〇', ...run]).slice(0, 16))
})

test('Words are compared up to their 64th code point', () => {
  const long = '𐐨'.repeat(64)
  for (const q of [long, `${long} `, `${long}b`, `${long}b `]) expect(rank(q, `${long}c`)).toBe(3)
  expect(rank('𐐨'.repeat(63), long)).toBe(3)
})

test('A text counts up to the 10,000th code point of its folded form', () => {
  const text = `${'½ '.repeat(2_499)}lastmore`
  expect([rank('last ', 'x', text), rank('lastm', 'x', text)]).toEqual([1, 0])
})

test('The sort key is the beginning of the folded name', () => {
  expect(sortKey(`É${'ß'.repeat(40)}`)).toBe(`e${'s'.repeat(63)}`)
})

test('The index of a name that begins with a chain', () => {
  expect(indexedWords("Men's T-shirt", 'a T-shirt')).toEqual({
    all: ['men', 's', 'mens', 't', 'shirt', 'tshirt', 'a'],
    ofName: ['men', 's', 'mens', 't', 'shirt', 'tshirt'],
    first: ['men'],
    beginning: 'men s t shirt',
  })
})

test('Every item is found by each of its words, by its name, and by every beginning of its name', () => {
  fc.assert(
    fc.property(TEXT, TEXT, (name, text) => {
      const words = indexedWords(name, text)
      for (const word of words.all) {
        const search = searchOf(word)
        expect([word, search && rankOf(search, words)]).not.toEqual([word, 0])
      }
      for (let end = 1; end <= name.length; end += 1) {
        const search = searchOf(name.slice(0, end))
        // A mark or a piece of ½ that is not there yet can change the word before.
        if (search && /^[\w '-]*$/.test(name)) expect(rankOf(search, words)).toBe(3)
      }
      const own = searchOf(name)
      if (own) expect(rankOf(own, words)).toBe(3)
    }),
    { numRuns: 2_000 },
  )
})

test('A rank is that of the plain rules, and a best match begins with the first word', () => {
  fc.assert(
    fc.property(TEXT, TEXT, TEXT, (q, name, text) => {
      const search = searchOf(q)
      if (!search) return
      expect(JSON.parse(JSON.stringify(search))).toEqual(search)
      for (const { text: term } of search.units.flat(2)) expect(term).toMatch(/^[\p{L}\p{N}\p{M}]{1,64}$/u)
      const [words, nameOnly] = [indexedWords(name, text), indexedWords(name, '')]
      const rank = rankOf(search, words)
      expect(rankOf(search, nameOnly)).toBe(rank >= 2 ? rank : 0)
      if (rank === 3) expect(search.beginning).toStartWith(words.first[0]?.slice(0, search.beginning.length) ?? '?')
      // Closing the query never finds more.
      expect(rankOf(searchOf(`${q} `) ?? search, words)).toBeLessThanOrEqual(rank)
    }),
    { numRuns: 3_000 },
  )
})
