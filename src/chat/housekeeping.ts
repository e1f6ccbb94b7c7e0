import { log } from '../server/log.ts'
import { interruptDead } from './answers/liveness.ts'
import type { Repositories } from './repositories.ts'

/** How often what is no longer kept is looked for. */
const HOUSEKEEPING_MS = 600_000

/** Ends what dead processes have left, and forgets what is too old: now, and from time to time. Disposing stops it. */
export function startHousekeeping({ prompts, answers }: Repositories): Disposable {
  let isStopped = false
  const tidy = async () => {
    try {
      await interruptDead(answers)
      while (!isStopped && (await prompts.forgetSome()) > 0);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.chat.warning('old prompts could not be forgotten: {reason}', { reason })
    }
  }
  void tidy()
  const timer = setInterval(tidy, HOUSEKEEPING_MS)
  return {
    [Symbol.dispose]: () => {
      isStopped = true
      clearInterval(timer)
    },
  }
}
