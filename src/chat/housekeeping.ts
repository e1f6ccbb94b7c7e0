import { getLogger } from '@logtape/logtape'
import { type Clock, pause, systemClock } from '../clock.ts'
import { DatabaseUnavailableError } from '../database/errors.ts'
import { errorMessage } from '../error-message.ts'
import { deadAnswersCheck } from './answers/dead-answers.ts'
import type { AnswerRepository } from './answers/repository.ts'
import type { Prompts } from './prompts/prompts.ts'
import type { Spending } from './spending/spending.ts'

const log = getLogger(['stockroom', 'chat'])

/** Interval of the checks for answers of dead processes. */
const DEAD_CHECK_MS = 1_000

/** Interval of the deletion of old prompts and of what was spent on former days. */
const PRUNE_MS = 60_000

interface HousekeepingOptions {
  readonly prompts: Prompts
  readonly answers: AnswerRepository
  readonly spending: Spending
  readonly clock?: Clock
}

/** Ends the answers of dead processes and deletes what is old, now and at intervals. Disposing of the result waits for work in progress. */
export function startHousekeeping({
  prompts,
  answers,
  spending,
  clock = systemClock,
}: HousekeepingOptions): AsyncDisposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const running = [
    regularly(DEAD_CHECK_MS, deadAnswersCheck(answers, clock), clock, signal),
    regularly(PRUNE_MS, () => prompts.prune(), clock, signal),
    regularly(PRUNE_MS, () => spending.prune(), clock, signal),
  ]
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

async function regularly(
  periodMs: number,
  work: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      // Requests report an unavailable database already.
      if (!signal.aborted && !(error instanceof DatabaseUnavailableError)) {
        log.warning('housekeeping failed: {reason}', { reason: errorMessage(error) })
      }
    }
    await pause(clock, periodMs, signal)
  }
}
