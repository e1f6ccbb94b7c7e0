/** Greatest speed, as a multiple of real time. */
const RATE_MAX = 2

/**
 * Follows a clock, but catches up slowly after a step ahead. So data that is deleted at some age is kept for at least half
 * that time, even if the clock steps. The first time is taken as it is.
 */
export class SlewedTime {
  #last: { readonly time: number; readonly at: number } | null = null

  /** The slewed time for the clock's `time`, at the moment `at` of a monotonic clock. All are in milliseconds. */
  next(time: number, at: number): number {
    const latest = this.#last ? this.#last.time + RATE_MAX * (at - this.#last.at) : time
    this.#last = { time: Math.min(time, latest), at }
    return this.#last.time
  }
}
