import type { QueueLimits } from './queue.ts'

/** Limits for one process. */
export interface AnswerLimits extends QueueLimits {
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

/** The share of the process's time for rendering all its answers. */
export const RENDERING_SHARE = 0.5

/** Rendering time that a process may save up: enough for thousands of ordinary pieces that arrive at once. */
export const RENDERING_BURST_MS = 200

/** After this time, a piece is rendered even if no time for rendering is left. */
export const BEHIND_MAX_MS = 100

/** Text rendered in one step, in UTF-16 code units. It bounds the time of a step if all of it is highlighted. */
export const RENDERING_STEP_CHARACTERS = 2_048

/** After a step that took longer, the next ones are shorter, down to this length: some lines take a tenth of a second to highlight. */
export const RENDERING_STEP_MS = 100
export const SHORT_STEP_CHARACTERS = 256
