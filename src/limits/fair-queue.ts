import { systemClock } from '../clock.ts'
import { BusyError } from './busy-error.ts'
import { Tally } from './tally.ts'

interface Waiting {
  readonly owner: string
  readonly admit: () => void
}

/**
 * Limits how many tasks run at once: a number of places, and a queue for them. A free place goes to the owner that holds
 * the fewest; its own turns, and owners that hold equally many, are first come, first served.
 */
export class FairQueue {
  readonly #places: number
  readonly #placesPerOwner: number
  readonly #held = new Tally()
  readonly #waiting: Waiting[] = []

  constructor(places: number, placesPerOwner = places) {
    this.#places = places
    this.#placesPerOwner = placesPerOwner
  }

  /** The number of tasks that wait for a place. */
  get length(): number {
    return this.#waiting.length
  }

  /** The number of tasks that hold a place. */
  get held(): number {
    return this.#held.total
  }

  /**
   * Resolves once it has a place for this owner; disposing of the place frees it. Rejects with the signal's reason if the
   * signal is aborted first.
   */
  async take(signal: AbortSignal, owner = ''): Promise<Disposable> {
    signal.throwIfAborted()
    const place = Promise.withResolvers<Disposable>()
    const waiting: Waiting = { owner, admit: () => place.resolve(this.#hold(owner)) }
    const leave = () => {
      if (this.#remove(waiting)) place.reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    this.#waiting.push(waiting)
    this.#admit()
    return place.promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Like `take`, but rejects with a `BusyError` of this message after so long. */
  takeWithin(milliseconds: number, tooMany: string): Promise<Disposable> {
    const late = new AbortController()
    const cancel = systemClock.after(milliseconds, () => late.abort(new BusyError(tooMany)))
    return this.take(late.signal).finally(cancel)
  }

  #hold(owner: string): Disposable {
    using held = new DisposableStack()
    held.defer(() => this.#admit())
    held.use(this.#held.add(owner))
    return held.move()
  }

  #admit(): void {
    while (this.#held.total < this.#places) {
      const next = this.#next()
      if (!next) return
      this.#remove(next)
      next.admit()
    }
  }

  #next(): Waiting | undefined {
    let next: Waiting | undefined
    let fewest = this.#placesPerOwner
    for (const waiting of this.#waiting) {
      const held = this.#held.of(waiting.owner)
      if (held < fewest) {
        fewest = held
        next = waiting
      }
    }
    return next
  }

  /** False if it was not waiting any more. */
  #remove(waiting: Waiting): boolean {
    const index = this.#waiting.indexOf(waiting)
    if (index >= 0) this.#waiting.splice(index, 1)
    return index >= 0
  }
}
