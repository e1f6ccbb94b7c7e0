import { expect, test } from 'bun:test'
import { FairQueue } from './fair-queue.ts'

const STAYS = new AbortController().signal

test('a free place goes to the owner that holds the fewest, and of these to the first that came', async () => {
  const queue = new FairQueue(2)
  const order: string[] = []
  const take = async (owner: string, turn: string) => {
    const place = await queue.take(STAYS, owner)
    order.push(turn)
    return place
  }
  const [one, two] = [await take('a', 'a1'), await take('a', 'a2')]
  const [three, other] = [take('a', 'a3'), take('b', 'b1'), take('b', 'b2'), take('c', 'c1')]
  one[Symbol.dispose]()
  await other
  two[Symbol.dispose]()
  await three
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3'])
  expect([queue.held, queue.length]).toEqual([2, 2])
})

test('an owner with all of its places waits, and others get the free ones', async () => {
  const queue = new FairQueue(3, 1)
  const place = await queue.take(STAYS, 'a')
  const second = queue.take(STAYS, 'a')
  await queue.take(STAYS, 'b')
  expect([queue.held, queue.length]).toEqual([2, 1])
  place[Symbol.dispose]()
  await second
})

test('who leaves gets no place, before or after the turn is asked for', async () => {
  const queue = new FairQueue(1)
  const gone = new Error('gone')
  expect(queue.take(AbortSignal.abort(gone))).rejects.toBe(gone)
  expect(queue.held).toBe(0)
  const place = await queue.take(STAYS)
  const leaving = new AbortController()
  const left = queue.take(leaving.signal)
  leaving.abort(gone)
  expect(left).rejects.toBe(gone)
  expect(queue.length).toBe(0)
  place[Symbol.dispose]()
  expect(queue.held).toBe(0)
})
