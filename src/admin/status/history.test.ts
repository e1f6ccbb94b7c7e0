import { expect, test } from 'bun:test'
import { manualClock } from '../../../test/harness/manual-clock.ts'
import { counter, type Family, histogram } from '../../metrics/family.ts'
import { Histogram, SECONDS } from '../../metrics/histogram.ts'
import { CHARTS, firstSeriesOf } from './charts.ts'
import { History, type Point } from './history.ts'
import { Window } from './window.ts'

const REQUESTS = 'stockroom_http_requests_total'

test('rates are those of the last five seconds, and the history is bounded', async () => {
  const clock = manualClock()
  let requests = 0
  using history = new History(async () => [requestsOf(requests)], clock)
  const tick = async (more: number) => {
    await clock.waitedFor(1_000)
    requests += more
    clock.advance(1_000)
  }
  for (let second = 0; second < 10; second += 1) await tick(20)
  for (let second = 0; second < 2; second += 1) await tick(0)
  await clock.waitedFor(1_000)
  expect(ratesOf(history.since(0))).toEqual([0, ...Array(10).fill(20), 16, 12])
  for (let second = 0; second < 700; second += 1) await tick(1)
  await clock.waitedFor(1_000)
  expect(history.since(0)).toHaveLength(600)
  const last = history.since(0).at(-1)?.number ?? 0
  expect(history.since(last - 3).map(({ number }) => number)).toEqual([last - 2, last - 1, last])
})

test('a read that fails leaves a gap and no more', async () => {
  const clock = manualClock()
  let fails = false
  using history = new History(async () => {
    if (fails) throw new Error('cannot be read')
    return [requestsOf(1)]
  }, clock)
  await clock.waitedFor(1_000)
  for (const failing of [true, true, false]) {
    fails = failing
    clock.advance(1_000)
    await clock.waitedFor(1_000)
  }
  expect(history.since(0)).toHaveLength(2)
})

test('quantiles are interpolated, a value in the first bucket counts as its bound, and nothing is null', () => {
  const seconds = new Histogram(SECONDS)
  const before = [histogram('times', 'Times.', seconds)]
  expect(new Window(before, before, 1).quantile('times', 0.5)).toBeNull()
  for (let count = 0; count < 90; count += 1) seconds.observe(0.00001)
  for (let count = 0; count < 10; count += 1) seconds.observe(0.0075)
  const window = new Window(before, [histogram('times', 'Times.', seconds)], 2)
  expect(window.quantile('times', 0.5)).toBe(0.0001)
  expect(window.quantile('times', 0.95)).toBeCloseTo(0.0075, 10)
  expect(window.quantile('times', 1)).toBe(0.01)
  expect(window.countRate('times')).toBe(50)
  expect(window.mean('times')).toBeCloseTo(0.000759, 10)
  expect(window.quantile('others', 0.5)).toBeNull()
})

function requestsOf(value: number): Family {
  return counter(REQUESTS, 'Requests.', [{ labels: { status: '200' }, value }])
}

function ratesOf(points: readonly Point[]): unknown[] {
  const chart = CHARTS.find(({ needs }) => needs === REQUESTS)
  return points.map(({ values }) => chart && values[firstSeriesOf(chart)])
}
