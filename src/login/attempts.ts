import { type Clock, systemClock } from '../clock.ts'
import { Rate } from '../limits/rate.ts'
import { ATTEMPTS_MAX, TOTAL_ATTEMPTS_MAX } from './limits.ts'

const MINUTE_MS = 60_000

/** Stands for all addresses together. */
const ALL = ''

/** Counts the wrong passwords of each address and of all together, in the memory of this process. */
export class Attempts {
  readonly #clock: Clock
  readonly #ofAddress = new Rate({ uses: ATTEMPTS_MAX, windowMs: MINUTE_MS })
  readonly #ofAll = new Rate({ uses: TOTAL_ATTEMPTS_MAX, windowMs: MINUTE_MS })

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Seconds that this address must wait before its next attempt. */
  secondsToWait(address: string): number {
    const now = this.#clock.now()
    return Math.ceil(Math.max(this.#ofAll.waitMs(ALL, now), this.#ofAddress.waitMs(address, now)) / 1_000)
  }

  /** Returns the limit that this attempt has reached. */
  fail(address: string): 'address' | 'total' | null {
    const now = this.#clock.now()
    const total = this.#ofAll.use(ALL, now)
    const own = this.#ofAddress.use(address, now)
    if (total.left === 0) return 'total'
    return own.left === 0 ? 'address' : null
  }
}
