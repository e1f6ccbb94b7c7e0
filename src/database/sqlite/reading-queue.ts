import { BusyError } from '../../limits/busy-error.ts'

const WAITING_MAX = 64
const WAIT_MAX_MS = 5_000

interface Waiting {
  readonly admit: () => void
  readonly refuse: (reason: Error) => void
}

/** One call at a time has the place; the others wait. Patient calls wait until no other call does. */
export class ReadingQueue {
  readonly #prompt: Waiting[] = []
  readonly #patient: Waiting[] = []
  #isHeld = false
  #closed: Error | null = null

  /** Resolves once the place is free; disposing of the place frees it. Rejects with a `BusyError` if the queue is too long. */
  async take(isPatient: boolean): Promise<Disposable> {
    if (this.#closed) throw this.#closed
    if (this.#isHeld) await this.#turn(isPatient ? this.#patient : this.#prompt)
    this.#isHeld = true
    return { [Symbol.dispose]: () => this.#next() }
  }

  /** Rejects all calls that wait, and further ones. */
  close(reason: Error): void {
    this.#closed = reason
    for (const { refuse } of [...this.#prompt, ...this.#patient]) refuse(reason)
  }

  #turn(queue: Waiting[]): Promise<void> {
    this.#makeSpace(queue)
    const turn = Promise.withResolvers<void>()
    const leave = () => {
      clearTimeout(timer)
      queue.splice(queue.indexOf(waiting), 1)
    }
    const waiting: Waiting = {
      admit: () => {
        leave()
        turn.resolve()
      },
      refuse: reason => {
        leave()
        turn.reject(reason)
      },
    }
    const timer = setTimeout(() => waiting.refuse(tooMany()), WAIT_MAX_MS)
    queue.push(waiting)
    return turn.promise
  }

  /** The last patient call gives way to one that is not. */
  #makeSpace(queue: Waiting[]): void {
    if (this.#prompt.length + this.#patient.length < WAITING_MAX) return
    const last = queue === this.#prompt ? this.#patient.at(-1) : undefined
    if (!last) throw tooMany()
    last.refuse(tooMany())
  }

  /** The place stays held for the next call, so that no new one comes before it. */
  #next(): void {
    const next = this.#prompt[0] ?? this.#patient[0]
    if (next) next.admit()
    else this.#isHeld = false
  }
}

function tooMany(): BusyError {
  return new BusyError('Too many long reads are waiting')
}
