import { pause, systemClock } from '../../clock.ts'

/** Interval for storing and reading new text, and for trying again after a failure. */
const STORE_MS = 100
const STORE_RETRY_MS = 500

/**
 * Works now and at intervals until the signal is aborted, and logs the first failure in a row. All answers of a process work at
 * the same moments, so that the database can group the writes.
 */
export async function repeatUntil(
  signal: AbortSignal,
  work: () => Promise<void>,
  logFailure: (error: unknown) => void,
): Promise<void> {
  let isFailing = false
  while (!signal.aborted) {
    try {
      await work()
      isFailing = false
    } catch (error) {
      if (!isFailing) logFailure(error)
      isFailing = true
    }
    const period = isFailing ? STORE_RETRY_MS : STORE_MS
    await pause(systemClock, period - (systemClock.now() % period), signal)
  }
}
