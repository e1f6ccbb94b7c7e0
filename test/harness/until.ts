const FIRST_PAUSE_MS = 2
/** A condition may cost requests and processes, so the longer it is awaited, the less often it is checked. */
const PAUSE_GROWTH = 1.25
const PAUSE_MAX_MS = 50

/** Waits for a condition, for as long as its test may take. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !(await condition()); pauseMs = Math.min(pauseMs * PAUSE_GROWTH, PAUSE_MAX_MS)) {
    await Bun.sleep(pauseMs)
  }
}
