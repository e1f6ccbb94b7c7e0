import { systemClock, within } from '../clock.ts'
import { counter, type Family, gauge } from '../metrics/family.ts'
import { processFamilies } from '../metrics/process.ts'
import { sums } from '../metrics/sums.ts'
import { shared } from '../shared.ts'

/** The supervisor has few files open. Its limit would hide that those of the workers run out. */
const OF_WORKERS_ALONE: ReadonlySet<string> = new Set(['process_open_fds', 'process_max_fds'])

/** A worker that is too busy to answer in time counts as it did the last time. */
const ANSWER_MAX_MS = 500

interface Worker {
  readonly ask: () => void
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
  /** Those that do not answer. */
  readonly #silent = new Set<number>()
  #killed = 0

  /** The worker can be asked from now on. */
  began(worker: number, ask: () => void): void {
    this.#workers.set(worker, { ask, families: [], answered: Promise.withResolvers() })
  }

  answered(number: number, families: readonly Family[]): void {
    const worker = this.#workers.get(number)
    if (!worker) return
    worker.families = families
    worker.answered.resolve()
  }

  silent(number: number): void {
    this.#silent.add(number)
  }

  answers(number: number): void {
    this.#silent.delete(number)
  }

  killed(): void {
    this.#killed += 1
  }

  ended(number: number): void {
    this.#restarts += 1
    this.#silent.delete(number)
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
    const told = [...this.#workers.values()].map(({ families }) => families)
    const own = processFamilies().filter(({ name }) => !OF_WORKERS_ALONE.has(name))
    return [
      ...sums([this.#ended, ...told, own]),
      gauge('stockroom_workers', 'Worker processes that serve.', this.#workers.size),
      gauge('stockroom_workers_answering', 'Worker processes that answer.', this.#workers.size - this.#silent.size),
      counter('stockroom_workers_killed_total', 'Workers that did not answer and were killed.', this.#killed),
      counter('stockroom_worker_restarts_total', 'Workers that have ended and were started again.', this.#restarts),
    ]
  }
}
