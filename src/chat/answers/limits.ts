import type { QueueLimits } from './queue.ts'

/** The bounds of what the chat does for its readers, in total for one process. */
export interface AnswerLimits extends QueueLimits {
  /** An answer to which nobody has listened for so long is not worth its price. */
  readonly unheardMaxMs: number
}

const ANSWERS_RUNNING_MAX = 16
const ANSWERS_WAITING_MAX = 256
const ANSWERS_PER_ADDRESS_MAX = 64
const UNHEARD_MAX_MS = 30_000

export const ANSWER_LIMITS: AnswerLimits = {
  runningMax: ANSWERS_RUNNING_MAX,
  waitingMax: ANSWERS_WAITING_MAX,
  perAddressMax: ANSWERS_PER_ADDRESS_MAX,
  unheardMaxMs: UNHEARD_MAX_MS,
}
