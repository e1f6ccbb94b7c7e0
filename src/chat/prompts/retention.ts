/** Limits on the number and the age of prompts, which are kept with their answers. */
export interface Retention {
  /** All prompts in the database. */
  readonly promptsMax: number
  /** Prompts of the last day from one address. Unanswered ones count for an hour. */
  readonly perAddressMax: number
  readonly ageMaxMs: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Younger prompts are never deleted to make room; new prompts are refused instead. */
export const RECENT_MS = DAY_MS
/** The same for a prompt whose answer nobody has asked for. A page asks at once. */
export const RECENT_UNANSWERED_MS = HOUR_MS

export const RETENTION: Retention = {
  promptsMax: 20_000,
  perAddressMax: 2_000,
  ageMaxMs: 7 * DAY_MS,
}
