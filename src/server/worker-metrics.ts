import { systemClock, within } from '../clock.ts'
import { counter, type Family, gauge } from '../metrics/family.ts'
import { processFamilies } from '../metrics/process.ts'
import { sums } from '../metrics/sums.ts'
import { shared } from '../shared.ts'
import type { Heartbeat } from './heartbeat.ts'

/** The supervisor has few files open. Its limit would hide that those of the workers run out. */
const OF_WORKERS_ALONE: ReadonlySet<string> = new Set(['process_open_fds', 'process_max_fds'])

/** A worker that is too busy to answer in time counts as it did the last time. */
const ANSWER_MAX_MS = 500

interface Worker {
  readonly ask: () => void
  readonly heartbeat: Pick<Heartbeat, 'isSilent'>
  /** The last answer. */
  families: readonly Family[]
  answered: PromiseWithResolvers<void>
}

/**
 * Adds up the metrics of workers. The counts of workers that have ended stay in the sums, because a counter that shrinks looks
 * like a restart of the whole service.
 */
export class WorkerMetrics {
  readonly #workers = new Map<number, Worker>()
  #ended: readonly Family[] = []
  #restarts = 0
  #killed = 0

  /** The worker can be asked from now on. */
  began(worker: number, ask: () => void, heartbeat: Worker['heartbeat']): void {
    this.#workers.set(worker, { ask, heartbeat, families: [], answered: Promise.withResolvers() })
  }

  answered(number: number, families: readonly Family[]): void {
    const worker = this.#workers.get(number)
    if (!worker) return
    worker.families = families
    worker.answered.resolve()
  }

  killed(): void {
    this.#killed += 1
  }

  ended(number: number): void {
    this.#restarts += 1
    const worker = this.#workers.get(number)
    if (!worker) return
    this.#workers.delete(number)
    this.#ended = sums([this.#ended, worker.families.filter(({ kind }) => kind !== 'gauge')])
    worker.answered.resolve()
  }

  /** Asks all workers, once for all concurrent callers. */
  readonly families = shared(() => this.#ask())

  async #ask(): Promise<Family[]> {
    const answers = [...this.#workers.values()].map(worker => {
      worker.answered = Promise.withResolvers()
      worker.ask()
      return worker.answered.promise
    })
    await within(systemClock, ANSWER_MAX_MS, Promise.all(answers))
    const workers = [...this.#workers.values()]
    const told = workers.map(({ families }) => families)
    const answering = workers.filter(({ heartbeat }) => !heartbeat.isSilent).length
    const own = processFamilies().filter(({ name }) => !OF_WORKERS_ALONE.has(name))
    return [
      ...sums([this.#ended, ...told, own]),
      gauge('stockroom_workers', 'Worker processes that serve.', workers.length),
      gauge('stockroom_workers_answering', 'Worker processes that answer.', answering),
      counter('stockroom_workers_killed_total', 'Workers that did not answer and were killed.', this.#killed),
      counter('stockroom_worker_restarts_total', 'Workers that have ended and were started again.', this.#restarts),
    ]
  }
}
