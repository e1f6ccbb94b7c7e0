import { expect, test } from 'bun:test'
import { followerViolations, listViolations, registerViolations } from './violations.ts'

/** The checker must find each kind of violation, or its silence about the service means nothing. */

const write = <Value>(value: Value, invokedAt: number, acknowledgedAt: number | null) => ({
  client: 0,
  key: 'a',
  value,
  invokedAt,
  acknowledgedAt,
  source: 'there',
})
const read = <Value>(value: Value, invokedAt: number, completedAt: number) => ({
  client: 1,
  key: 'a',
  value,
  invokedAt,
  completedAt,
  source: 'here',
})

test('the consistency checker accepts a register that is read while it is written', () => {
  const writes = [write(1, 0, 1), write(2, 2, 5), write(3, 6, null)]
  const reads = [read(1, 3, 4), read(2, 3, 4.5), read(2, 5.5, 7), read(3, 8, 9)]
  expect(registerViolations({ writes, reads })).toEqual([])
})

test('the consistency checker finds a read that is older than an acknowledged write', () => {
  const found = registerViolations({ writes: [write(1, 0, 1), write(2, 2, 3)], reads: [read(1, 4, 5)] })
  expect(found).toEqual([
    'a: client 1 at here from 4 to 5 shows 1 after 2 was known: 1 was sent by client 0 to there at 0 and acknowledged at 1; ' +
      '2 was known by: sent by client 0 to there at 2 and acknowledged at 3',
  ])
})

test('the consistency checker finds a read that is older than an earlier read of an unacknowledged write', () => {
  const found = registerViolations({
    writes: [write(1, 0, 1), write(2, 2, null)],
    reads: [read(2, 3, 4), read(1, 5, 6)],
  })
  expect(found).toEqual([
    'a: client 1 at here from 5 to 6 shows 1 after 2 was known: 1 was sent by client 0 to there at 0 and acknowledged at 1; ' +
      '2 was known by: a: client 1 at here from 3 to 4',
  ])
})

test('the consistency checker finds a value that nobody wrote', () => {
  const found = registerViolations({ writes: [write(1, 0, 1), write(3, 9, 10)], reads: [read(3, 4, 5), read(7, 4, 5)] })
  expect(found).toEqual([
    'a: client 1 at here from 4 to 5 shows 3 too early: 3 was sent by client 0 to there at 9 and acknowledged at 10',
    'a: client 1 at here from 4 to 5 shows 7 too early: nobody wrote 7',
  ])
})

test('the consistency checker accepts lists in which each read is a prefix of the next', () => {
  const appends = [write('x', 0, 4), write('y', 1, 3), write('z', 5, null)]
  const reads = [read(['y'], 2, 4), read(['y', 'x'], 4.5, 6), read(['y', 'x', 'z'], 7, 8)]
  expect(listViolations({ appends, reads })).toEqual([])
})

test('the consistency checker finds two reads of which neither is a prefix of the other', () => {
  const appends = [write('x', 0, 9), write('y', 0, 9)]
  const found = listViolations({ appends, reads: [read(['x'], 1, 2), read(['y', 'x'], 3, 4)] })
  expect(found).toContain('a: client 1 at here from 1 to 2 has x where another read has y')
})

test('the consistency checker finds a list that lacks an acknowledged item', () => {
  const appends = [write('x', 0, 1), write('y', 2, 3)]
  const found = listViolations({ appends, reads: [read(['x'], 4, 5), read(['x', 'y'], 6, 7)] })
  expect(found).toEqual(['a: client 1 at here from 4 to 5 has 1 items after 2 were known'])
})

test('the consistency checker finds an acknowledged item that no read shows', () => {
  const found = listViolations({ appends: [write('x', 0, 1)], reads: [read([], 0, 1)] })
  expect(found).toEqual(['a: x was acknowledged, and no read shows it'])
})

test('the consistency checker finds an item that stands before one that was acknowledged first', () => {
  const appends = [write('x', 0, 1), write('y', 2, 3)]
  const found = listViolations({ appends, reads: [read(['y', 'x'], 4, 5)] })
  expect(found).toEqual(['a: y stands at 1, before what was known at its beginning (2)'])
})

test('the consistency checker finds items that are shown twice or were never appended', () => {
  const found = listViolations({ appends: [write('x', 0, 1)], reads: [read(['x', 'x', 'z'], 4, 5)] })
  expect(found).toContain('a list shows an item twice')
  expect(found).toContain('z is shown, and nobody appended it')
})

test('the consistency checker finds a follower that misses an item or sees one twice', () => {
  const followers = [
    { source: 'good', ids: [1, 2, 3, 4] },
    { source: 'hasty', ids: [1, 3, 4] },
    { source: 'stuttering', ids: [1, 2, 2, 3] },
  ]
  expect(followerViolations({ followers, acknowledgedIds: [1, 2, 3] })).toEqual([
    'hasty misses 1 of 3: 2',
    'stuttering is not in ascending order at 2',
  ])
})
