import { BusyError } from '../../limits/busy-error.ts'
import { FairQueue } from '../../limits/fair-queue.ts'
import { timedFromQueue, untimed } from '../../tracing/timeline.ts'
import type { Query } from './pool.ts'
import { onPrimary } from './roles.ts'

/** Limits on the reads that wait for their turn. */
const PLANNED_WAITING_MAX = 1_024
const PLANNED_WAIT_MAX_MS = 5_000
const TOO_MANY = 'Too many searches are waiting'

/** For all statements of a transaction. With a parameter, it is sent together with the next statement. */
const PLAN_FOR_PARAMETERS = "SELECT set_config('plan_cache_mode', $1::text, TRUE)"

/** Runs work in a transaction on one snapshot of the primary, again if a connection breaks. */
type OnSnapshot = (work: (query: Query) => Promise<void>) => Promise<void>

/** Reads whose best plans depend on their parameters: they are planned for these, while others may be planned once for all. */
export class PlannedReads {
  readonly #onSnapshot: OnSnapshot
  readonly #queue: FairQueue

  /** At most `most` at once, because each has a connection for itself. */
  constructor(most: number, onSnapshot: OnSnapshot) {
    this.#queue = new FairQueue(most)
    this.#onSnapshot = onSnapshot
  }

  /** Reads by statements on one snapshot. `work` may be called again. */
  read<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    return timedFromQueue('statement', async begins => {
      if (this.#queue.length >= PLANNED_WAITING_MAX) throw new BusyError(TOO_MANY)
      const place = await this.#queue.takeWithin(PLANNED_WAIT_MAX_MS, TOO_MANY)
      begins()
      return new Promise<Result>((resolve, reject) => {
        const read = () =>
          this.#onSnapshot(async ask => {
            const query: Query = (sql, ...parameters) => ask(onPrimary(sql), ...parameters)
            const [, result] = await Promise.all([ask(PLAN_FOR_PARAMETERS, 'force_custom_plan'), work(query)])
            // Nobody has to wait for the end of a transaction that has only read.
            resolve(result)
          })
        // The time until that end is not the request's.
        const reading = untimed(read)
        reading.catch(reject).finally(() => place[Symbol.dispose]())
      })
    })
  }
}
