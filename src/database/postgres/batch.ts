import { BusyError } from '../../limits/busy-error.ts'
import { COUNTS, Histogram } from '../../metrics/histogram.ts'
import { currentTimeline, Timeline, timedFromQueue } from '../../tracing/timeline.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import { reasonOfRefusedRow } from './failure.ts'

/** Limits on the statements in progress. */
export interface BatchLimits {
  /** While this many statements are in progress, further inputs wait for the next one. */
  readonly statementsMax: number
  /** Limit on the inputs of one statement. */
  readonly inputsMax: number
}

/** Figures of many batches together. A database does not keep the batches themselves: each choice of fields has some. */
export class BatchFigures {
  /** The number of inputs that wait for a statement. */
  waiting = 0
  /** Counts the inputs of each statement. */
  readonly sizes = new Histogram(COUNTS)
}

const LIMITS: BatchLimits = { statementsMax: 2, inputsMax: 128 }

/** Limit on waiting inputs; further ones are rejected. */
const WAITING_MAX = 8_192

/** Runs one statement. Resolves to one output per input, in the same order. */
export type RunBatch<Input, Output> = (inputs: readonly Input[]) => Promise<readonly Output[]>

interface Waiting<Input, Output> {
  readonly input: Input
  readonly resolve: (output: Output) => void
  readonly reject: (error: unknown) => void
  readonly timeline: Timeline | undefined
  readonly begins: () => void
}

/**
 * Batches concurrent inputs into one statement, which the database plans, runs and commits once. While the database is idle,
 * nothing waits. If the statement fails, it fails for all of its inputs, unless it is because of what is in one of them.
 */
export class Batch<Input, Output> {
  readonly #run: RunBatch<Input, Output>
  readonly #limits: BatchLimits
  readonly #figures: BatchFigures
  #waiting: Waiting<Input, Output>[] = []
  #running = 0
  #isScheduled = false

  constructor(run: RunBatch<Input, Output>, limits = LIMITS, figures = new BatchFigures()) {
    this.#run = run
    this.#limits = limits
    this.#figures = figures
  }

  add(input: Input): Promise<Output> {
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(new BusyError('Too many requests are waiting'))
    }
    const timeline = currentTimeline()
    const added = (begins: () => void) =>
      new Promise<Output>((resolve, reject) => {
        this.#waiting.push({ input, resolve, reject, timeline, begins })
        this.#figures.waiting += 1
        this.#schedule()
      })
    return timedFromQueue('statement', added)
  }

  /** Runs after this event-loop turn, so that all requests that have arrived join one batch. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#limits.statementsMax || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      void this.#begin()
    })
  }

  async #begin(): Promise<void> {
    const batch = this.#take(this.#limits.inputsMax)
    // They may have been rejected meanwhile.
    if (batch.length === 0) return
    this.#running += 1
    this.#figures.sizes.observe(batch.length)
    this.#schedule()
    for (const { begins } of batch) begins()
    await this.#answer(batch)
    this.#running -= 1
    this.#schedule()
  }

  async #answer(batch: readonly Waiting<Input, Output>[]): Promise<void> {
    try {
      const inputs = batch.map(({ input }) => input)
      const outputs = await asOneOf(batch, () => this.#run(inputs))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const output = outputs[index]
        if (output === undefined) reject(new Error('a batched statement returned fewer outputs than inputs'))
        else resolve(output)
      }
    } catch (error) {
      if (batch.length > 1 && reasonOfRefusedRow(error) !== null) {
        // Somebody's own rule has refused a row. The error may not say which one.
        const half = Math.ceil(batch.length / 2)
        for (const some of [batch.slice(0, half), batch.slice(half)]) await this.#answer(some)
        return
      }
      for (const { reject } of batch) reject(error)
      // The waiting inputs would wait just as long and fail too.
      if (error instanceof DatabaseUnavailableError) for (const { reject } of this.#take(WAITING_MAX)) reject(error)
    }
  }

  /** The first waiting inputs, which wait no more. */
  #take(most: number): Waiting<Input, Output>[] {
    const taken = this.#waiting.splice(0, most)
    this.#figures.waiting -= taken.length
    return taken
  }
}

/** Runs the statement of a batch in one of the traces that it belongs to, and on no request's own time. */
function asOneOf<Result>(batch: readonly { readonly timeline: Timeline | undefined }[], run: () => Result): Result {
  if (batch.every(({ timeline }) => timeline === undefined)) return run()
  const traced = batch.find(({ timeline }) => timeline?.span)
  return new Timeline(traced?.timeline?.span ?? null).run(run)
}
