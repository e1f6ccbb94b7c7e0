/** How many places there are at the model, and how many of all answers one client may have. */
export interface QueueLimits {
  /** Answers for which the model is asked at once; further ones wait. */
  readonly runningMax: number
  readonly waitingMax: number
  /** Answers of one client, running or waiting. */
  readonly perAddressMax: number
}

/** A client never has all places, unless there is one alone, however many of its answers wait. */
const RUNNING_SHARE_MAX = 3 / 4

/** A place in the queue. Disposing leaves it, wherever it stands, and makes room for the next one. */
export interface Ticket extends Disposable {
  /** Resolves to true when the model may be asked, and to false when the signal comes first. */
  turn(signal: AbortSignal): Promise<boolean>
}

type Refusal = 'full' | 'too many of this address'

interface Waiting {
  readonly address: string
  readonly begin: () => void
}

/**
 * Places at the model, and the queue for them. The next place goes to the client that has the fewest; among its answers, and
 * among clients that have as many, first come, first served.
 */
export class Queue {
  readonly #limits: QueueLimits
  readonly #runningPerAddressMax: number
  /** Tickets and running answers of each client that has any. */
  readonly #tickets = new Map<string, number>()
  readonly #running = new Map<string, number>()
  readonly #waiting: Waiting[] = []
  #ticketCount = 0
  #runningCount = 0

  constructor(limits: QueueLimits) {
    this.#limits = limits
    this.#runningPerAddressMax = Math.max(1, Math.floor(limits.runningMax * RUNNING_SHARE_MAX))
  }

  enter(address: string): Ticket | Refusal {
    const { runningMax, waitingMax, perAddressMax } = this.#limits
    if ((this.#tickets.get(address) ?? 0) >= perAddressMax) return 'too many of this address'
    if (this.#ticketCount >= runningMax + waitingMax) return 'full'
    count(this.#tickets, address, 1)
    this.#ticketCount += 1
    return this.#ticket(address)
  }

  #ticket(address: string): Ticket {
    let state: 'entered' | 'running' | 'left' = 'entered'
    return {
      turn: async signal => {
        if (signal.aborted) return false
        const turn = Promise.withResolvers<void>()
        const waiting = {
          address,
          begin: () => {
            state = 'running'
            turn.resolve()
          },
        }
        this.#waiting.push(waiting)
        this.#admit()
        const leave = () => turn.resolve()
        signal.addEventListener('abort', leave)
        await turn.promise
        signal.removeEventListener('abort', leave)
        if (state === 'running') return true
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        return false
      },
      [Symbol.dispose]: () => {
        if (state === 'left') return
        if (state === 'running') {
          count(this.#running, address, -1)
          this.#runningCount -= 1
        }
        state = 'left'
        count(this.#tickets, address, -1)
        this.#ticketCount -= 1
        this.#admit()
      },
    }
  }

  #admit(): void {
    while (this.#runningCount < this.#limits.runningMax) {
      const next = this.#next()
      if (!next) return
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      count(this.#running, next.address, 1)
      this.#runningCount += 1
      next.begin()
    }
  }

  #next(): Waiting | undefined {
    let next: Waiting | undefined
    let fewest = this.#runningPerAddressMax
    for (const waiting of this.#waiting) {
      const running = this.#running.get(waiting.address) ?? 0
      if (running < fewest) {
        fewest = running
        next = waiting
      }
    }
    return next
  }
}

function count(counts: Map<string, number>, address: string, change: number): void {
  const value = (counts.get(address) ?? 0) + change
  if (value === 0) counts.delete(address)
  else counts.set(address, value)
}
