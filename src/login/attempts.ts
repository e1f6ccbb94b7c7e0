import { type Clock, systemClock } from '../clock.ts'
import { ATTEMPTING_ADDRESSES_MAX, ATTEMPTS_MAX, TOTAL_ATTEMPTS_MAX } from './limits.ts'

const MINUTE_MS = 60_000

interface Failures {
  count: number
  readonly until: number
}

/** Counts the wrong passwords of each address and of all together, in the memory of this process. */
export class Attempts {
  readonly #clock: Clock
  /** The earliest first. */
  readonly #failures = new Map<string, Failures>()
  #total: Failures = { count: 0, until: Number.NEGATIVE_INFINITY }

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Seconds that this address must wait before its next attempt. */
  secondsToWait(address: string): number {
    const ofAddress = this.#failures.get(address)
    return Math.max(this.#wait(this.#total, TOTAL_ATTEMPTS_MAX), ofAddress ? this.#wait(ofAddress, ATTEMPTS_MAX) : 0)
  }

  /** Returns the limit that this attempt has reached. */
  fail(address: string): 'address' | 'total' | null {
    const known = this.#failures.get(address)
    const failures = known && this.#lasts(known) ? known : this.#begin(address)
    if (!this.#lasts(this.#total)) this.#total = this.#noneYet()
    failures.count += 1
    this.#total.count += 1
    if (this.#total.count === TOTAL_ATTEMPTS_MAX) return 'total'
    return failures.count === ATTEMPTS_MAX ? 'address' : null
  }

  #wait({ count, until }: Failures, max: number): number {
    return count < max ? 0 : Math.max(0, Math.ceil((until - this.#clock.now()) / 1_000))
  }

  #lasts({ until }: Failures): boolean {
    return until > this.#clock.now()
  }

  #noneYet(): Failures {
    return { count: 0, until: this.#clock.now() + MINUTE_MS }
  }

  #begin(address: string): Failures {
    const failures = this.#noneYet()
    this.#failures.delete(address)
    this.#failures.set(address, failures)
    const [earliest] = this.#failures.keys()
    if (this.#failures.size > ATTEMPTING_ADDRESSES_MAX && earliest !== undefined) this.#failures.delete(earliest)
    return failures
  }
}
