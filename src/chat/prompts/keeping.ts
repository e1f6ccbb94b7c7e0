/** Prompts beyond these are forgotten, with their answers. */
const PROMPTS_KEPT_MAX = 5_000
/** A week. */
const PROMPT_AGE_MAX_MS = 604_800_000

export interface Keeping {
  readonly promptsMax: number
  readonly ageMaxMs: number
}

export const KEEPING: Keeping = { promptsMax: PROMPTS_KEPT_MAX, ageMaxMs: PROMPT_AGE_MAX_MS }
