import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/harness/any-character.ts'
import { folded } from './folding.ts'
import { wordsOf } from './words.ts'

function textsOf(text: string): string[] {
  return wordsOf(folded(text)).map(word => word.text)
}

test('The words of a chain are followed by its joined form', () => {
  expect(textsOf("Men's T-shirt")).toEqual(['men', 's', 'mens', 't', 'shirt', 'tshirt'])
  expect(textsOf('Men’s tee‑shirt x‐y aʼb')).toEqual([
    'men',
    's',
    'mens',
    'tee',
    'shirt',
    'teeshirt',
    'x',
    'y',
    'xy',
    'a',
    'b',
    'ab',
  ])
  expect(textsOf('Rock-n’roll')).toEqual(['rock', 'n', 'roll', 'rocknroll'])
})

test('Two hyphens, a dash, or one at an end make no chain', () => {
  expect(textsOf("a--b c–d -e- 'n' f-'g")).toEqual(['a', 'b', 'c', 'd', 'e', 'n', 'f', 'g'])
})

test('Runs of scripts without spaces are pairs and their last character', () => {
  expect(textsOf('花园铁')).toEqual(['花园', '园铁', '铁'])
  expect(textsOf('花')).toEqual(['花'])
  expect(textsOf('食べる ガーデン')).toEqual(['食べ', 'べる', 'る', 'ガー', 'ーデ', 'デン', 'ン'])
  expect(textsOf('น้ํา')).toEqual(['น้', '้ํ', 'ํา', 'า'])
  expect(textsOf('ຂອງ ខ្មែ မြန်')).toEqual(['ຂອ', 'ອງ', 'ງ', 'ខ្', '្ម', 'មែ', 'ែ', 'မြ', 'ြန', 'န်', '်'])
  expect(textsOf('𠮷野家')).toEqual(['𠮷野', '野家', '家'])
})

test('A word of several scripts is cut where they meet, and its chain is joined before', () => {
  expect(textsOf('iPhone手机壳2')).toEqual(['iphone', '手机', '机壳', '壳', '2'])
  expect(textsOf('手-机')).toEqual(['手', '机', '手机', '机'])
  expect(textsOf('T-恤')).toEqual(['t', '恤'])
})

test('Korean, Hindi and Arabic words are whole', () => {
  expect(textsOf('한국어 हिन्दी مُحَمَّد')).toEqual(['한국어', 'हिन्दी', 'محمد'])
})

test('A word counts up to its 64th code point, joined forms too, and runs are not cut', () => {
  const long = 'a'.repeat(63)
  expect(textsOf(`${long}𐐨𐐨`)).toEqual([`${long}𐐨`])
  expect(textsOf(`${long}-bcd`)).toEqual([long, 'bcd', `${long}b`])
  expect(textsOf('花'.repeat(100))).toHaveLength(100)
})

test('Words have only letters, digits and marks, and say where they stand', () => {
  const unit = fc.oneof(
    fc.constantFrom(...'aB1é-\'’ʼ 花かン゙ก\u200d\ufe0f½🌾\u0000"'),
    fc.string({ unit: anyCharacter, maxLength: 1 }),
  )
  fc.assert(
    fc.property(fc.string({ unit }), random => {
      const text = folded(random)
      for (const { text: word, start, end } of wordsOf(text)) {
        expect(word).toMatch(/^[\p{L}\p{N}\p{M}]{1,64}$/u)
        expect(text.slice(start, end).replace(/[-'‐‑’ʼ]/gu, '')).toStartWith(word)
      }
    }),
    { numRuns: 2_000 },
  )
})
