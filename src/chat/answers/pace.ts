import { type Clock, systemClock } from '../../clock.ts'
import { ownTurns } from '../../limits/own-turns.ts'

/** The share of the process's time for rendering all its answers. */
const RENDERING_SHARE = 0.5

/** Rendering time that a process may save up: enough for thousands of ordinary pieces that arrive at once. */
const RENDERING_BURST_MS = 200

/** After this time, a piece is rendered even if no time for rendering is left. */
const BEHIND_MAX_MS = 100

/**
 * Shares the time for rendering between all answers of a process, as a token bucket: time that is not used is saved up to a
 * limit, and once it is spent, all answers wait until some is saved again.
 */
export class Pace {
  readonly clock: Clock
  /** For one rendering. */
  readonly turn = ownTurns()
  #savedMs = RENDERING_BURST_MS
  #at: number

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
}
