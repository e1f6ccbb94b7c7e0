/** A trial tells of the writes of this time after it, in milliseconds: each is a commit, which empties all caches. */
const VALID_MS = 1_000

/** Writes a little now and then to find out whether writes can be done. */
export class WriteTrial {
  readonly #writeLittle: () => Promise<unknown>
  #outcome: Promise<unknown> = Promise.resolve()
  #validUntil = 0

  constructor(writeLittle: () => Promise<unknown>) {
    this.#writeLittle = writeLittle
  }

  /** Resolves when a write is done that began after `since`, or not long before now; rejects when it was refused. */
  async passed(since: number): Promise<void> {
    const now = performance.now()
    if (now > this.#validUntil || since > this.#validUntil - VALID_MS) {
      this.#validUntil = now + VALID_MS
      this.#outcome = this.#writeLittle().finally(() => {
        this.#validUntil = performance.now() + VALID_MS
      })
    }
    await this.#outcome
  }
}
