/** The current use of a budget. */
export interface BudgetFigures {
  readonly heldBytes: number
  readonly maxBytes: number
  /** Tasks that wait for their turn. */
  readonly waiting: number
}

/** A limit on memory, in bytes, that several tasks share. A task that needs more than is free waits its turn. */
export class ByteBudget {
  readonly #max: number
  readonly #waiting: { readonly bytes: number; readonly start: () => void }[] = []
  #held = 0

  constructor(maxBytes: number) {
    this.#max = maxBytes
  }

  get figures(): BudgetFigures {
    return { heldBytes: this.#held, maxBytes: this.#max, waiting: this.#waiting.length }
  }

  /** Whether the next `take` would have to wait. */
  get isSpent(): boolean {
    return this.#held >= this.#max || this.#waiting.length > 0
  }

  /** Counts bytes that are in memory already, even beyond the limit. */
  hold(bytes: number): void {
    this.#held += bytes
  }

  /** Waits until so many bytes are free, then reserves them. */
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
