import { getLogger } from '@logtape/logtape'
import { type Clock, pause, systemClock } from '../../clock.ts'
import type { Family } from '../../metrics/family.ts'
import { valuesIn } from './charts.ts'
import { Window } from './window.ts'

const log = getLogger(['stockroom', 'server'])

/** There is another point after this time. */
export const INTERVAL_MS = 1_000

/** Rates and times span this many intervals, because a single second of a quiet server says little. */
const WINDOW_INTERVALS = 5

/** Ten minutes. */
const KEPT_POINTS = 600

/** The values of all charts at one moment. */
export interface Point {
  /** Counts all points. */
  readonly number: number
  /** In seconds since 1970. */
  readonly at: number
  /** One for each series of each chart. */
  readonly values: readonly (number | null)[]
}

/** Reads the metrics every second, and keeps the points of the charts for the last minutes. */
export class History implements Disposable {
  readonly #read: () => Promise<readonly Family[]>
  readonly #clock: Clock
  readonly #points: Point[] = []
  /** The reads of a window, the oldest first. */
  readonly #reads: { readonly families: readonly Family[]; readonly at: number }[] = []
  readonly #over = new AbortController()
  #window = new Window([], [], 1)

  constructor(read: () => Promise<readonly Family[]>, clock: Clock = systemClock) {
    this.#read = read
    this.#clock = clock
    void this.#run()
  }

  /** The change of the metrics in the last seconds. */
  get window(): Window {
    return this.#window
  }

  /** The points after this one, the oldest first. */
  since(number: number): readonly Point[] {
    return this.#points.filter(point => point.number > number)
  }

  [Symbol.dispose](): void {
    this.#over.abort()
  }

  async #run(): Promise<void> {
    const { signal } = this.#over
    while (!signal.aborted) {
      const began = this.#clock.now()
      try {
        this.#add(await this.#read())
      } catch (error) {
        log.warning('the metrics could not be read: {reason}', { reason: String(error) })
      }
      await pause(this.#clock, Math.max(0, began + INTERVAL_MS - this.#clock.now()), signal)
    }
  }

  #add(families: readonly Family[]): void {
    const at = this.#clock.now()
    this.#reads.push({ families, at })
    if (this.#reads.length > WINDOW_INTERVALS + 1) this.#reads.shift()
    const [first = { families, at }] = this.#reads
    this.#window = new Window(first.families, families, Math.max(at - first.at, 1) / 1_000)
    const number = (this.#points.at(-1)?.number ?? 0) + 1
    this.#points.push({ number, at: Date.now() / 1_000, values: valuesIn(this.#window) })
    if (this.#points.length > KEPT_POINTS) this.#points.shift()
  }
}
