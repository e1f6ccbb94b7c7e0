import { setImmediate } from 'node:timers/promises'
import { type Clock, systemClock } from '../../clock.ts'
import { BEHIND_MAX_MS, RENDERING_BURST_MS, RENDERING_SHARE } from './limits.ts'

/**
 * Shares the time for rendering between all answers of a process, as a token bucket: time that is not used is saved up to a
 * limit, and once it is spent, all answers wait until some is saved again.
 */
export class Pace {
  readonly clock: Clock
  #savedMs = RENDERING_BURST_MS
  #at: number
  #turns = Promise.resolve()

  constructor(clock: Clock = systemClock) {
    this.clock = clock
    this.#at = clock.now()
  }

  /** The delay before the next rendering. */
  get waitMs(): number {
    this.spend(0)
    return this.#savedMs >= 0 ? 0 : Math.min(BEHIND_MAX_MS, -this.#savedMs / RENDERING_SHARE)
  }

  spend(milliseconds: number): void {
    const now = this.clock.now()
    // A debt that cannot be paid off within the longest delay is forgiven.
    const least = -BEHIND_MAX_MS * RENDERING_SHARE
    const savedMs = Math.max(least, this.#savedMs) + (now - this.#at) * RENDERING_SHARE
    this.#savedMs = Math.min(RENDERING_BURST_MS, savedMs) - milliseconds
    this.#at = now
  }

  /** Resolves for one rendering per turn of the event loop, so that other requests run in between. */
  turn(): Promise<void> {
    this.#turns = this.#turns.then(() => setImmediate())
    return this.#turns
  }
}
