import { BusyError } from '../../limits/busy-error.ts'

const WAITING_MAX = 64
const WAIT_MAX_MS = 5_000

interface Waiting extends PromiseWithResolvers<void> {
  readonly isPatient: boolean
}

/** One call at a time has the place; the others wait. Patient calls wait until no other call does. */
export class ReadingQueue {
  /** In the order of their turns, so patient calls are last. */
  readonly #waiting: Waiting[] = []
  #isHeld = false
  #closed: Error | null = null

  /** Resolves once the place is free; disposing of the place frees it. Rejects with a `BusyError` if the queue is too long. */
  async take(isPatient: boolean): Promise<Disposable> {
    if (this.#closed) throw this.#closed
    if (this.#isHeld) await this.#turn(isPatient)
    this.#isHeld = true
    return { [Symbol.dispose]: () => this.#next() }
  }

  /** Rejects all calls that wait, and further ones. */
  close(reason: Error): void {
    this.#closed = reason
    for (const { reject } of this.#waiting.splice(0)) reject(reason)
  }

  async #turn(isPatient: boolean): Promise<void> {
    if (this.#waiting.length === WAITING_MAX) {
      // The last patient call gives way to one that is not.
      if (isPatient || !this.#waiting.at(-1)?.isPatient) throw tooMany()
      this.#waiting.pop()?.reject(tooMany())
    }
    const waiting: Waiting = { isPatient, ...Promise.withResolvers<void>() }
    const patient = isPatient ? -1 : this.#waiting.findIndex(other => other.isPatient)
    this.#waiting.splice(patient === -1 ? this.#waiting.length : patient, 0, waiting)
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      waiting.reject(tooMany())
    }, WAIT_MAX_MS)
    await waiting.promise.finally(() => clearTimeout(timer))
  }

  /** The place stays held for the next call, so that no new one comes before it. */
  #next(): void {
    const next = this.#waiting.shift()
    if (next) next.resolve()
    else this.#isHeld = false
  }
}

function tooMany(): BusyError {
  return new BusyError('Too many long reads are waiting')
}
