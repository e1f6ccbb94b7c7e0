/** Limits for one process. */
export interface AnswerLimits {
  /** Answers that the model writes at the same time; more wait. */
  readonly runningMax: number
  readonly waitingMax: number
  /** Answers of one client, running or waiting. */
  readonly perAddressMax: number
  /** An answer is stopped when nobody has listened for this long, because each answer costs money. */
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
