/** The bounds of what the chat does for its readers, in total for one process. */
export interface AnswerLimits {
  /** Answers for which the model is asked at once; further ones wait in line. */
  readonly runningMax: number
  /** Answers in line; one more is turned away. */
  readonly waitingMax: number
  /** An answer to which nobody has listened for so long is not worth its price. */
  readonly unheardMaxMs: number
}

const ANSWERS_RUNNING_MAX = 16
const ANSWERS_WAITING_MAX = 256
const UNHEARD_MAX_MS = 30_000

export const ANSWER_LIMITS: AnswerLimits = {
  runningMax: ANSWERS_RUNNING_MAX,
  waitingMax: ANSWERS_WAITING_MAX,
  unheardMaxMs: UNHEARD_MAX_MS,
}
