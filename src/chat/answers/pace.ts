import { setImmediate } from 'node:timers/promises'
import { type Clock, systemClock } from '../../clock.ts'
import { BEHIND_MAX_MS, RENDERING_BURST_MS, RENDERING_SHARE } from './limits.ts'

/** Shares the time for rendering between all answers of a process. */
export class Pace {
  readonly clock: Clock
  /** The number of answers that share it. */
  answers = 0
  #turns = Promise.resolve()

  constructor(clock: Clock = systemClock) {
    this.clock = clock
  }

  /** The share of time for one answer. */
  get share(): number {
    return RENDERING_SHARE / Math.max(1, this.answers)
  }

  /** Resolves for one rendering per turn of the event loop, so that other requests run in between. */
  turn(): Promise<void> {
    this.#turns = this.#turns.then(() => setImmediate())
    return this.#turns
  }
}

/**
 * Decides when an answer may be rendered again, as a token bucket of rendering time: time that is not used is saved up to
 * a limit, and an answer that has spent it waits until it has saved some again. Until it is disposed of, it has its share.
 */
export class AnswerPace implements Disposable {
  readonly #pace: Pace
  #savedMs = RENDERING_BURST_MS
  #at: number

  constructor(pace: Pace) {
    this.#pace = pace
    this.#at = pace.clock.now()
    pace.answers += 1
  }

  /** The delay before the next rendering. */
  get waitMs(): number {
    this.spend(0)
    return this.#savedMs >= 0 ? 0 : Math.min(BEHIND_MAX_MS, -this.#savedMs / this.#pace.share)
  }

  spend(milliseconds: number): void {
    const { clock, share } = this.#pace
    const now = clock.now()
    // A debt that cannot be paid off within the longest delay is forgiven.
    const least = -BEHIND_MAX_MS * share
    const savedMs = Math.min(RENDERING_BURST_MS, Math.max(least, this.#savedMs) + (now - this.#at) * share)
    this.#savedMs = savedMs - milliseconds
    this.#at = now
  }

  [Symbol.dispose](): void {
    this.#pace.answers -= 1
  }
}
