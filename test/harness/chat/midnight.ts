const DAY_MS = 86_400_000
/** Longer than any test of what is spent on a day. */
const TEST_MAX_MS = 60_000
/** A timer may end a little early. */
const SPARE_MS = 100

/** Waits until midnight in UTC if it is near: what was spent before is not counted after it. */
export async function awayFromMidnight(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS)
  if (leftMs < TEST_MAX_MS) await Bun.sleep(leftMs + SPARE_MS)
}
