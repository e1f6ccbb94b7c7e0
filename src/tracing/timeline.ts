import { AsyncLocalStorage } from 'node:async_hooks'
import type { Span, TimedPart } from './tracer.ts'

/** Further parts are not kept, for example those of a long list. */
const PARTS_MAX = 64

const current = new AsyncLocalStorage<Timeline | undefined>()

/** Records the parts of one request's time. */
export class Timeline {
  /** `null` if the request is not sampled. */
  readonly span: Span | null
  readonly parts: TimedPart[] = []

  constructor(span: Span | null) {
    this.span = span
  }

  add(name: string, start: number, end = performance.now()): void {
    if (this.parts.length < PARTS_MAX) this.parts.push({ name, start, end })
  }

  /** Runs work on the time of this request. */
  run<Result>(work: () => Result): Result {
    return current.run(this, work)
  }
}

/** The timeline of the request that this code works for; `undefined` if nobody wants to know. */
export function currentTimeline(): Timeline | undefined {
  return current.getStore()
}

/** Adds the duration of the work to the current timeline. */
export function timed<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const timeline = currentTimeline()
  if (timeline === undefined) return work()
  const start = performance.now()
  return work().finally(() => timeline.add(name, start))
}

/** Runs work whose parts are not told. */
export function untimed<Result>(work: () => Result): Result {
  return current.run(undefined, work)
}

/** Like `timed`, for work that first waits in a queue of the database, and that calls `begins` when its turn has come. */
export function timedFromQueue<Result>(name: string, work: (begins: () => void) => Promise<Result>): Promise<Result> {
  const timeline = currentTimeline()
  if (timeline === undefined) return work(() => {})
  const queued = performance.now()
  let begun: number | null = null
  const begins = () => {
    begun = performance.now()
  }
  return work(begins).finally(() => {
    timeline.add('waiting for the database', queued, begun ?? performance.now())
    if (begun !== null) timeline.add(name, begun)
  })
}
