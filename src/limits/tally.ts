/** How many each client holds at once, for limits that refuse instead of queueing. A key whose count is 0 takes no memory. */
export class Tally {
  readonly #counts = new Map<string, number>()
  #total = 0

  /** The sum over all keys. */
  get total(): number {
    return this.#total
  }

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  /** Adds one, or more, until the result is disposed of. */
  add(key: string, amount = 1): Disposable {
    this.#change(key, amount)
    return { [Symbol.dispose]: () => this.#change(key, -amount) }
  }

  #change(key: string, difference: number): void {
    this.#total += difference
    const count = this.of(key) + difference
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }
}
