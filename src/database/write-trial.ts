/** A trial's outcome is reused for this long, in milliseconds, because each trial is a commit and so clears every cache. */
const VALID_MS = 1_000

/** Finds out by a small write whether the database accepts writes. */
export class WriteTrial {
  readonly #write: () => Promise<unknown>
  #outcome: Promise<unknown> = Promise.resolve()
  #validUntil = 0

  constructor(write: () => Promise<unknown>) {
    this.#write = write
  }

  /** Resolves after a recent write that began later than `since`, a time of `performance.now()`; rejects if it failed. */
  async passed(since: number): Promise<void> {
    const now = performance.now()
    if (now > this.#validUntil || since > this.#validUntil - VALID_MS) {
      this.#validUntil = now + VALID_MS
      this.#outcome = this.#write().finally(() => {
        this.#validUntil = performance.now() + VALID_MS
      })
    }
    await this.#outcome
  }
}
