import { expect, test } from 'bun:test'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { DatabaseUnavailableError } from '../database/errors.ts'
import { digestOf, newSecret } from './key.ts'
import { KeyRing } from './key-ring.ts'
import type { StoredKey } from './repository.ts'

/** Tests how often the database is read, because no client can see that. Other tests ask servers. */

const SHOP = newSecret()
const TILL = newSecret()

test('a flood of unknown keys reads the database ten times a second', async () => {
  const { ring, clock, reads } = startRing()
  expect(await ring.find(newSecret())).toBeNull()
  const flood = Array.from({ length: 10_000 }, () => ring.find(newSecret()))
  await Bun.sleep(0)
  expect(reads()).toBe(1)
  clock.advance(100)
  expect(new Set(await Promise.all(flood))).toEqual(new Set([null]))
  expect(reads()).toBe(2)
})

test('a key that was created after the last read is found by the next', async () => {
  const { ring, clock, keys } = startRing()
  expect(await ring.find(TILL)).toBeNull()
  keys.push(stored('till', TILL))
  const found = ring.find(TILL)
  clock.advance(100)
  expect(await found).toEqual({ name: 'till', scope: 'read' })
})

test('a known key is found at once, and refused a second after it was revoked, however busy it is', async () => {
  const { ring, clock, keys, reads } = startRing()
  await ring.find(SHOP)
  keys.length = 0
  expect(ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
  clock.advance(500)
  expect(ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
  expect(reads()).toBe(1)
  clock.advance(501)
  expect(await ring.find(SHOP)).toBeNull()
})

test('a key is refused a second after it was revoked, also if the keys were read slowly', async () => {
  const { ring, clock, keys } = startRing(900)
  expect(await ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
  keys.length = 0
  clock.advance(101)
  expect(await ring.find(SHOP)).toBeNull()
})

test('keys in use are read twice a second, and requests do not wait for it', async () => {
  const { ring, clock, reads } = startRing()
  await ring.find(SHOP)
  for (let time = 0; time < 100; time += 1) {
    clock.advance(100)
    expect(ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
    await Bun.sleep(0)
  }
  expect(reads()).toBeGreaterThan(10)
  expect(reads()).toBeLessThanOrEqual(21)
})

test('while the database cannot be read, keys count for a second, and then none does', async () => {
  const { ring, clock, fail } = startRing()
  await ring.find(SHOP)
  fail(true)
  clock.advance(501)
  expect(ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
  // Nobody waits for the read that fails now.
  await Bun.sleep(0)
  clock.advance(499)
  expect(ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
  clock.advance(1)
  await expect(async () => await ring.find(SHOP)).toThrow(DatabaseUnavailableError)
  fail(false)
  clock.advance(100)
  expect(await ring.find(SHOP)).toEqual({ name: 'shop', scope: 'read' })
})

test('text that cannot be a key reads nothing', () => {
  const { ring, reads } = startRing()
  for (const text of ['', 'shop', SHOP.slice(0, -1), `${SHOP}x`, SHOP.toUpperCase(), `${SHOP} `]) {
    expect(ring.find(text)).toBeNull()
  }
  expect(reads()).toBe(0)
})

/** A ring on a database with the key `SHOP`, which takes so long to read. */
function startRing(readMs = 0) {
  const clock = manualClock()
  const keys = [stored('shop', SHOP)]
  let reads = 0
  let isFailing = false
  const list = async () => {
    reads += 1
    if (isFailing) throw new DatabaseUnavailableError('the database cannot be used')
    const found = [...keys]
    clock.advance(readMs)
    return found
  }
  const fail = (failing: boolean) => {
    isFailing = failing
  }
  return { ring: new KeyRing({ list }, clock), clock, keys, fail, reads: () => reads }
}

function stored(name: string, secret: string): StoredKey {
  return { name, scope: 'read', digest: digestOf(secret), createdAt: 0 }
}
