import { setTimeout as wait } from 'node:timers/promises'
import { isBusy } from './failure.ts'

interface Retrying {
  readonly maxMs: number
  readonly pauseMs: number
}

/**
 * Runs `work` again and again while another process holds the lock that it needs, and resolves to its result. The event loop
 * goes on meanwhile. Rejects with SQLite's error after the time limit.
 */
export async function whenUnlocked<Result>(work: () => Result, { maxMs, pauseMs }: Retrying): Promise<Result> {
  const end = performance.now() + maxMs
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      await wait(pauseMs)
    }
  }
}
