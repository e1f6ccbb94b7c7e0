import { expect, test } from 'bun:test'
import type { Change, ChangeSource } from '../../../database/change.ts'
import { PRODUCTS } from '../../products/stored.ts'
import { RepresentationCache } from './cached.ts'

type Changed = Parameters<Parameters<ChangeSource['onChange']>[0]>[0]

const OF_CATEGORIES = { key: 'facets', dependencies: [{ table: 'categories', id: 'any', part: 'row' }] } as const

/** A cache, and a function that tells it of changes. */
function cacheOf() {
  const told: ((changes: Changed) => void)[] = []
  const source: ChangeSource = { onChange: listener => told.push(listener), current: look => look() }
  const cache = new RepresentationCache(source, [PRODUCTS], { maxBytes: 1_000_000, derivedCharacters: () => 0 })
  const tell = (changes: Changed) => {
    for (const listener of told) listener(changes)
  }
  return { cache, tell }
}

test('a value that was being read while the cache was cleared is read again', async () => {
  const { cache, tell } = cacheOf()
  const kept = cache.values<string>()
  const { promise, resolve } = Promise.withResolvers<string>()
  const first = kept(OF_CATEGORIES, async () => ({ value: await promise, bytes: 1 }))
  tell('unknown')
  resolve('before')
  expect(await first).toBe('before')
  expect(await kept(OF_CATEGORIES, () => ({ value: 'after', bytes: 1 }))).toBe('after')
})

test('a cache that would have to remember more than 100,000 changed rows is cleared instead', () => {
  const { cache, tell } = cacheOf()
  const row = { category_id: null }
  const change = (id: number): Change => ({ table: 'products', id, before: row, after: row })
  tell(Array.from({ length: 100_000 }, (_, place) => change(1 + place)))
  expect(cache.figures?.clears).toBe(0)
  tell([change(100_001)])
  expect(cache.figures?.clears).toBe(1)
})
