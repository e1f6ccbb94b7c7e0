/** Number of questions within a worker's time limit. */
const BEATS = 10

/** After so many questions without an answer, the log says so. */
const MISSED_BEATS = 3

export interface HeartbeatEvents {
  /** Sends the question. */
  readonly ask: () => void
  /** Called when it has not answered for a while, and when it answers again. */
  readonly misses: (silentMs: number) => void
  readonly returns: () => void
  /** Called when the time limit is over. Nothing is asked afterwards. */
  readonly dies: () => void
}

/**
 * Asks a worker again and again whether it is alive. Only the waits of this process count: if the machine or all processes are
 * suspended, each worker has the same time to answer afterwards.
 */
export class Heartbeat implements Disposable {
  readonly #intervalMs: number
  readonly #events: HeartbeatEvents
  #timer: Timer
  /** Since the last answer. */
  #beats = 0

  constructor(limitMs: number, events: HeartbeatEvents) {
    this.#intervalMs = limitMs / BEATS
    this.#events = events
    events.ask()
    this.#timer = this.#wait()
  }

  /** Whether it has not answered for a while. */
  get isSilent(): boolean {
    return this.#beats > MISSED_BEATS
  }

  /** Call it when the worker answers. */
  answered(): void {
    if (this.isSilent) this.#events.returns()
    this.#beats = 0
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }

  /** Not an interval, which would catch up after the process was stopped. */
  #wait(): Timer {
    return setTimeout(() => this.#beat(), this.#intervalMs)
  }

  #beat(): void {
    this.#beats += 1
    if (this.#beats > BEATS) {
      this.#events.dies()
      return
    }
    if (this.#beats === MISSED_BEATS + 1) this.#events.misses(MISSED_BEATS * this.#intervalMs)
    this.#events.ask()
    this.#timer = this.#wait()
  }
}
