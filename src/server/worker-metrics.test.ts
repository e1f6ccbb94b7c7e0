import { expect, test } from 'bun:test'
import { counter, type Family, gauge } from '../metrics/family.ts'
import { WorkerMetrics } from './worker-metrics.ts'

const ANSWERING = { isSilent: false }

test('workers are asked once for all who want to know at the same time', async () => {
  const metrics = new WorkerMetrics()
  let asked = 0
  for (const worker of [1, 2]) metrics.began(worker, () => (asked += 1), ANSWERING)
  const both = [metrics.families(), metrics.families()]
  for (const worker of [1, 2]) metrics.answered(worker, requests(10))
  for (const families of await Promise.all(both)) expect(totalOf(families, 'requests_total')).toBe(20)
  expect(asked).toBe(2)
})

test('a worker that does not answer counts as it did the last time, and one that has ended keeps its counts only', async () => {
  const metrics = new WorkerMetrics()
  const families: Record<number, readonly Family[]> = { 1: requests(10), 2: requests(5) }
  const answers = (worker: number) => () => metrics.answered(worker, families[worker] ?? [])
  metrics.began(1, answers(1), ANSWERING)
  metrics.began(2, answers(2), ANSWERING)
  await metrics.families()
  metrics.ended(2)
  metrics.began(2, () => {}, ANSWERING)
  families[1] = requests(11)
  const now = await metrics.families()
  expect(totalOf(now, 'requests_total')).toBe(16)
  expect(totalOf(now, 'waiting')).toBe(1)
  expect(totalOf(now, 'stockroom_worker_restarts_total')).toBe(1)
})

function requests(count: number): Family[] {
  return [
    counter('requests_total', 'Requests.', [{ labels: { status: '200' }, value: count }]),
    gauge('waiting', 'Waiting requests.', 1),
  ]
}

function totalOf(families: readonly Family[], name: string): number | undefined {
  const family = families.find(family => family.name === name)
  return family?.kind === 'histogram' ? undefined : family?.samples[0]?.value
}
