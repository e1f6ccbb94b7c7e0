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

/** The part of a process's time that all its answers together may be rendered in. */
export const RENDERING_SHARE = 0.5

/** Time to render that an answer saves up: enough for hundreds of ordinary pieces that come at once. */
export const RENDERING_BURST_MS = 20

/** A piece is rendered no later, whatever that costs. */
export const BEHIND_MAX_MS = 100

/** Text that is rendered in one go, in UTF-16 code units: what a rendering costs that highlights all of it. */
export const RENDERING_STEP_CHARACTERS = 2_048
