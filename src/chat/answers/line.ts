/** Places at the model, and the line of those who wait for one, first come, first served. */
export class Line {
  readonly #waiting: (() => void)[] = []
  readonly #waitingMax: number
  #free: number

  constructor(places: number, waitingMax: number) {
    this.#free = places
    this.#waitingMax = waitingMax
  }

  /** Whether one more would have to be turned away. */
  get isFull(): boolean {
    return this.#free === 0 && this.#waiting.length >= this.#waitingMax
  }

  /** Resolves when it is the caller's turn; disposing gives the place to the next. `null` when the signal comes first. */
  async place(signal: AbortSignal): Promise<Disposable | null> {
    if (signal.aborted) return null
    if (this.#free > 0) {
      this.#free -= 1
      return this.#taken()
    }
    const turn = Promise.withResolvers<void>()
    const leave = () => turn.resolve()
    this.#waiting.push(turn.resolve)
    signal.addEventListener('abort', leave)
    await turn.promise
    signal.removeEventListener('abort', leave)
    const index = this.#waiting.indexOf(turn.resolve)
    if (index === -1) return this.#taken()
    this.#waiting.splice(index, 1)
    return null
  }

  #taken(): Disposable {
    return { [Symbol.dispose]: () => this.#leave() }
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }
}
