import { setTimeout as wait } from 'node:timers/promises'
import { isBusy } from './failure.ts'

/** Time for which a wait goes unmentioned. */
const SILENT_MS = 500

export interface Retrying {
  readonly maxMs: number
  readonly pauseMs: number
  /** Called once, if the wait lasts for half a second. */
  readonly waits?: () => void
}

/**
 * Runs `work` again and again while another process holds the lock that it needs, and resolves to its result. The event loop
 * goes on meanwhile. Rejects with SQLite's error after the time limit.
 */
export async function whenUnlocked<Result>(work: () => Result, { maxMs, pauseMs, waits }: Retrying): Promise<Result> {
  const start = performance.now()
  let isSilent = waits !== undefined
  for (;;) {
    try {
      return work()
    } catch (error) {
      const waitedMs = performance.now() - start
      if (!isBusy(error) || waitedMs > maxMs) throw error
      if (isSilent && waitedMs > SILENT_MS) {
        isSilent = false
        waits?.()
      }
      await wait(pauseMs)
    }
  }
}
