import { setTimeout as wait } from 'node:timers/promises'
import { getLogger } from '@logtape/logtape'
import { DatabaseUnavailableError } from '../database/errors.ts'
import { DeadAnswers } from './answers/dead-answers.ts'
import type { Repositories } from './repositories.ts'

const log = getLogger(['stockroom', 'chat'])

/** How often is looked for answers whose process has died. */
const LOOK_MS = 1_000

/** How often is looked for what is no longer kept. */
const FORGET_MS = 60_000

/** Ends what dead processes have left, and forgets what is too old: now, and from time to time. Disposing stops it. */
export function startHousekeeping({ prompts, answers }: Repositories): Disposable {
  const stopping = new AbortController()
  const { signal } = stopping
  const dead = new DeadAnswers(answers)
  const forget = async () => {
    while (!signal.aborted && (await prompts.forgetSome()) > 0);
  }
  void regularly(LOOK_MS, signal, () => dead.look())
  void regularly(FORGET_MS, signal, forget)
  return { [Symbol.dispose]: () => stopping.abort() }
}

async function regularly(periodMs: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    try {
      await work()
    } catch (error) {
      // Whoever asks for something hears of a database that is not there.
      if (!signal.aborted && !(error instanceof DatabaseUnavailableError)) {
        const reason = error instanceof Error ? error.message : String(error)
        log.warning('housekeeping failed: {reason}', { reason })
      }
    }
    await wait(periodMs, undefined, { signal }).catch(() => {})
  }
}
