/** A trial's outcome is reused for this long, in milliseconds, because each trial is a commit and so clears every cache. */
const VALID_MS = 1_000

/**
 * Makes a check that finds out by a small write whether the database accepts writes. It resolves after a recent write that
 * began later than `since`, a time of `performance.now()`, and rejects if one has failed since.
 */
export function writeTrial(write: () => Promise<unknown>): (since: number) => Promise<void> {
  let outcome: Promise<unknown> = Promise.resolve()
  let validUntil = 0
  /** The outcome tells nothing of writes that failed later. */
  let toldOf = 0
  return async since => {
    const now = performance.now()
    if (now > validUntil || since > toldOf) {
      toldOf = now
      validUntil = now + VALID_MS
      outcome = write()
        .catch(error => {
          toldOf = performance.now()
          throw error
        })
        .finally(() => {
          validUntil = performance.now() + VALID_MS
        })
    }
    await outcome
  }
}
