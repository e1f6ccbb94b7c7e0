import { getLogger } from '@logtape/logtape'
import { type Clock, pause, systemClock } from '../clock.ts'
import { DatabaseUnavailableError } from '../database/errors.ts'
import { errorMessage } from '../error-message.ts'
import { DeadAnswers } from './answers/dead-answers.ts'
import type { AnswerRepository } from './answers/repository.ts'
import type { Prompts } from './prompts/prompts.ts'

const log = getLogger(['stockroom', 'chat'])

/** How often is looked for answers whose process has died. */
const LOOK_MS = 1_000

/** How often what is too old is looked for. */
const FORGET_MS = 60_000

interface HousekeepingOptions {
  readonly prompts: Prompts
  readonly answers: AnswerRepository
  readonly clock?: Clock
}

/** Ends what dead processes have left, and forgets what is too old: now, and from time to time. Disposing stops it. */
export function startHousekeeping({ prompts, answers, clock = systemClock }: HousekeepingOptions): Disposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const dead = new DeadAnswers(answers)
  void regularly(LOOK_MS, () => dead.look(), clock, signal)
  void regularly(FORGET_MS, () => prompts.forget(), clock, signal)
  return { [Symbol.dispose]: () => stopping.abort() }
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
      // Whoever asks for something hears of a database that is not there.
      if (!signal.aborted && !(error instanceof DatabaseUnavailableError)) {
        log.warning('housekeeping failed: {reason}', { reason: errorMessage(error) })
      }
    }
    await pause(clock, periodMs, signal)
  }
}
