import { type Clock, systemClock } from '../../clock.ts'
import { ATTEMPTING_ADDRESSES_MAX, ATTEMPTS_MAX } from './limits.ts'

const MINUTE_MS = 60_000

interface Failures {
  count: number
  readonly until: number
}

/** Counts the wrong passwords of each address, in the memory of this process. */
export class Attempts {
  readonly #clock: Clock
  /** The earliest first. */
  readonly #failures = new Map<string, Failures>()

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Seconds that this address must wait before its next attempt. */
  secondsToWait(address: string): number {
    const failures = this.#current(address)
    if (!failures || failures.count < ATTEMPTS_MAX) return 0
    return Math.ceil((failures.until - this.#clock.now()) / 1_000)
  }

  /** Returns true if this was the last attempt that is allowed for now. */
  fail(address: string): boolean {
    const failures = this.#current(address) ?? this.#begin(address)
    failures.count += 1
    return failures.count === ATTEMPTS_MAX
  }

  #current(address: string): Failures | undefined {
    const failures = this.#failures.get(address)
    return failures && failures.until > this.#clock.now() ? failures : undefined
  }

  #begin(address: string): Failures {
    const failures = { count: 0, until: this.#clock.now() + MINUTE_MS }
    this.#failures.delete(address)
    this.#failures.set(address, failures)
    const [earliest] = this.#failures.keys()
    if (this.#failures.size > ATTEMPTING_ADDRESSES_MAX && earliest !== undefined) this.#failures.delete(earliest)
    return failures
  }
}
