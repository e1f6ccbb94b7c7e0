/** Which prompts are kept, with their answers. */
export interface Keeping {
  /** Prompts in the database. */
  readonly promptsMax: number
  /** Of them, those of the last day from one address. Unanswered ones count for an hour. */
  readonly perAddressMax: number
  readonly ageMaxMs: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** What is younger is not forgotten to make room: new prompts are refused instead. */
export const RECENT_MS = DAY_MS
/** The same for a prompt whose answer nobody has asked for; a page does so at once. */
export const RECENT_UNANSWERED_MS = HOUR_MS

const PROMPTS_KEPT_MAX = 20_000
const PROMPTS_PER_ADDRESS_MAX = 2_000

export const KEEPING: Keeping = {
  promptsMax: PROMPTS_KEPT_MAX,
  perAddressMax: PROMPTS_PER_ADDRESS_MAX,
  ageMaxMs: 7 * DAY_MS,
}
