/** Memory that several pieces of work share. Work that needs more than is free waits for it, first come, first served. */
export class ByteBudget {
  readonly #max: number
  readonly #waiting: { readonly bytes: number; readonly start: () => void }[] = []
  #held = 0

  constructor(maxBytes: number) {
    this.#max = maxBytes
  }

  /** Whether one more would have to wait. */
  get isSpent(): boolean {
    return this.#held >= this.#max || this.#waiting.length > 0
  }

  /** For what is in memory already. */
  hold(bytes: number): void {
    this.#held += bytes
  }

  /** Resolves when that much is free, and holds it. */
  async take(bytes: number): Promise<void> {
    if (this.#waiting.length > 0 || this.#held + bytes > this.#max) {
      await new Promise<void>(start => this.#waiting.push({ bytes, start: () => start() }))
    } else {
      this.#held += bytes
    }
  }

  release(bytes: number): void {
    this.#held -= bytes
    for (let next = this.#waiting[0]; next && this.#held + next.bytes <= this.#max; next = this.#waiting[0]) {
      this.#waiting.shift()
      this.#held += next.bytes
      next.start()
    }
  }
}
