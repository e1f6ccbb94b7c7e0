import { getLogger } from '@logtape/logtape'
import { type Clock, systemClock } from '../clock.ts'
import { regularly } from '../database/regularly.ts'
import { deadAnswersCheck } from './answers/dead-answers.ts'
import type { AnswerRepository } from './answers/repository.ts'
import type { Prompts } from './prompts/prompts.ts'
import type { Spending } from './spending/spending.ts'

const log = getLogger(['stockroom', 'chat'])

/** Interval of the checks for answers of dead processes. */
const DEAD_CHECK_MS = 1_000

/** Interval of the deletion of old prompts, and of the spending of former days. */
const PRUNE_MS = 60_000

interface HousekeepingOptions {
  readonly prompts: Prompts
  readonly answers: AnswerRepository
  readonly spending: Spending
  readonly clock?: Clock
}

/**
 * Ends the answers of dead processes, and deletes old prompts and spending, now and at intervals. Disposing of the result waits
 * for work in progress.
 */
export function startHousekeeping({
  prompts,
  answers,
  spending,
  clock = systemClock,
}: HousekeepingOptions): AsyncDisposable {
  const work = new AsyncDisposableStack()
  work.use(regularly({ periodMs: DEAD_CHECK_MS, work: deadAnswersCheck(answers, clock), clock, log }))
  work.use(regularly({ periodMs: PRUNE_MS, work: () => prompts.prune(), clock, log }))
  work.use(regularly({ periodMs: PRUNE_MS, work: () => spending.prune(), clock, log }))
  return work
}
