import type { Logger } from '@logtape/logtape'
import { type Clock, pause, systemClock } from '../clock.ts'
import { BusyError } from '../limits/busy-error.ts'
import { errorMessage } from '../program/error-message.ts'
import { DatabaseUnavailableError } from './errors.ts'

interface RegularWork {
  readonly periodMs: number
  /** The signal aborts when it has to end. */
  readonly work: (signal: AbortSignal) => Promise<void>
  readonly clock?: Clock
  readonly log: Logger
}

/** Does work in the background, now and at intervals. Disposing of the result waits for work in progress. */
export function regularly({ periodMs, work, clock = systemClock, log }: RegularWork): AsyncDisposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    while (!signal.aborted) {
      try {
        await work(signal)
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
  const running = run()
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
