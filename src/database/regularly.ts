import type { Logger } from '@logtape/logtape'
import { type Clock, pause } from '../clock.ts'
import { BusyError } from '../limits/busy-error.ts'
import { errorMessage } from '../program/error-message.ts'
import { DatabaseUnavailableError } from './errors.ts'

interface RegularWork {
  readonly periodMs: number
  readonly work: () => Promise<void>
  readonly clock: Clock
  /** Ends it. */
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Does work in the background, now and at intervals. Resolves when the signal is aborted and no work is in progress. */
export async function regularly({ periodMs, work, clock, signal, log }: RegularWork): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      // Requests report an unavailable or busy database already.
      const isReported = error instanceof DatabaseUnavailableError || error instanceof BusyError
      if (!signal.aborted && !isReported) {
        log.warning('housekeeping failed: {reason}', { reason: errorMessage(error) })
      }
    }
    await pause(clock, periodMs, signal)
  }
}
