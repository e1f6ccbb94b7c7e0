import { expect, test } from 'bun:test'
import { remembering } from './remembering.ts'

test('a function that remembers reads a text again if it is long, is not to be kept, or too many others came since', () => {
  const reads: string[] = []
  const read = (text: string) => {
    reads.push(text)
    return text.toUpperCase()
  }
  const known = remembering(read, { max: 2, charactersMax: 3, keeps: value => value !== 'NOT' })
  const readsOf = (...texts: string[]) => {
    reads.length = 0
    expect(texts.map(known)).toEqual(texts.map(text => text.toUpperCase()))
    return reads.join(' ')
  }
  expect(readsOf('one', 'one', 'two', 'one')).toBe('one two')
  expect(readsOf('long', 'long', 'not', 'not', 'two')).toBe('long long not not')
  expect(readsOf('six', 'six', 'one', 'two')).toBe('six one two')
})
