import { expect, test } from 'bun:test'
import { PRODUCTS } from '../../products/stored.ts'
import { wholeList } from '../query.ts'
import { RepresentationCache } from './cached.ts'

test('a page is shown after four reads, even if the rows in it change during each of them', async () => {
  const source = { onChange: () => {}, current: <Result>(look: () => Result) => look() }
  const cache = new RepresentationCache(source, [PRODUCTS], { maxBytes: 1_000_000, derivedCharacters: () => 0 })
  let reads = 0
  const lists = {
    page: async () => {
      reads += 1
      if (reads > 10) throw new Error('the page is read forever')
      return { ids: [1], revisions: [reads], last: [0, 1], more: false }
    },
    count: async () => 1,
  }
  const row = { id: 1, ownerIds: [0], json: '{"id":1}', cut: null, revision: 0 }
  const reader = cache.reader(PRODUCTS, lists, { read: async () => ({ found: [row], count: 1 }) })
  expect((await reader.page({ ...wholeList(), source: 'index' })).items).toEqual([row])
  expect(reads).toBe(4)
})
