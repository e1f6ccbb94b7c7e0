import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { setImmediate as turn } from 'node:timers/promises'
import { BoundedCache } from './bounded-cache.ts'

test('a partition that nobody uses any more is freed, and the others keep what they have', async () => {
  const cache = new BoundedCache(1_000_000)
  const used = cache.partition<string, { readonly bytes: number }>()
  used.set('kept', { bytes: 10 })
  const unused = Array.from({ length: 100 }, () => new WeakRef(cache.partition()))
  await turn()
  Bun.gc(true)
  // The collector may take what it finds on the stack for a reference.
  expect(unused.filter(partition => partition.deref()).length).toBeLessThan(unused.length / 2)
  expect(cache.figures.entries).toBe(1)
  expect(used.get('kept')).toEqual({ bytes: 10 })
  cache.clear()
  expect(used.get('kept')).toBeUndefined()
})

test('a value that is replaced counts once, and a cleared cache holds nothing', () => {
  const cache = new BoundedCache(100)
  const partition = cache.partition<string, { readonly bytes: number }>()
  for (const bytes of [40, 10]) partition.set('one', { bytes })
  expect(cache.figures).toEqual({ bytes: 10, maxBytes: 100, entries: 1 })
  partition.set('two', { bytes: 45 })
  partition.set('three', { bytes: 20 })
  expect(cache.figures).toEqual({ bytes: 75, maxBytes: 100, entries: 3 })
  cache.clear()
  expect(cache.figures).toEqual({ bytes: 0, maxBytes: 100, entries: 0 })
})

test('a cache in which nothing is kept forgets the partitions that nobody uses any more', async () => {
  const references = () => heapStats().objectTypeCounts.WeakRef ?? 0
  const cache = new BoundedCache(0)
  const before = references()
  for (let made = 0; made < 1_000; made += 1) cache.partition()
  for (let turns = 0; turns < 3; turns += 1) {
    await turn()
    Bun.gc(true)
  }
  expect(references() - before).toBeLessThan(500)
  expect(cache.figures.entries).toBe(0)
})
