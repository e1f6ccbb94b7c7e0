/** How many times as fast as real time this one goes at most. */
const RATE_MAX = 2

/**
 * A clock's time that catches up slowly with steps ahead: what is forgotten at an age has had half of it at least, whatever
 * the clock does. The first time is taken as it is.
 */
export class SlewedTime {
  #last: { readonly time: number; readonly at: number } | null = null

  /** The time to go by when the clock says `time`, at the moment `at` of a monotonic clock. Both in milliseconds. */
  next(time: number, at: number): number {
    const latest = this.#last ? this.#last.time + RATE_MAX * (at - this.#last.at) : time
    this.#last = { time: Math.min(time, latest), at }
    return this.#last.time
  }
}
