import { BusyError } from '../../limits/busy-error.ts'
import { COUNTS, Histogram } from '../../metrics/histogram.ts'
import { currentTimeline, Timeline, timedFromQueue } from '../../tracing/timeline.ts'
import { DatabaseUnavailableError } from '../errors.ts'

/** Limits on the statements in progress. */
export interface BatchLimits {
  /** While this many statements are in progress, further inputs wait for the next one. */
  readonly statementsMax: number
  /** Limit on the inputs of one statement. */
  readonly inputsMax: number
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
 * nothing waits. If the statement fails, it fails for all of its inputs.
 */
export class Batch<Input, Output> {
  readonly #run: RunBatch<Input, Output>
  readonly #limits: BatchLimits
  readonly #sizes: Histogram
  #waiting: Waiting<Input, Output>[] = []
  #running = 0
  #isScheduled = false

  /** `sizes` counts the inputs of each statement. */
  constructor(run: RunBatch<Input, Output>, limits = LIMITS, sizes = new Histogram(COUNTS)) {
    this.#run = run
    this.#limits = limits
    this.#sizes = sizes
  }

  /** The number of inputs that wait for a statement. */
  get waiting(): number {
    return this.#waiting.length
  }

  add(input: Input): Promise<Output> {
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(new BusyError('Too many requests are waiting'))
    }
    const timeline = currentTimeline()
    const added = (begins: () => void) =>
      new Promise<Output>((resolve, reject) => {
        this.#waiting.push({ input, resolve, reject, timeline, begins })
        this.#schedule()
      })
    return timeline === undefined ? added(() => {}) : timedFromQueue('statement', added)
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
    const batch = this.#waiting.splice(0, this.#limits.inputsMax)
    this.#running += 1
    this.#sizes.observe(batch.length)
    this.#schedule()
    try {
      for (const { begins } of batch) begins()
      const inputs = batch.map(({ input }) => input)
      const outputs = await asOneOf(batch, () => this.#run(inputs))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const output = outputs[index]
        if (output === undefined) reject(new Error('a batched statement returned fewer outputs than inputs'))
        else resolve(output)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
      // The waiting inputs would wait just as long and fail too.
      if (error instanceof DatabaseUnavailableError) for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
    this.#running -= 1
    this.#schedule()
  }
}

/** Runs the statement of a batch in one of the traces that it belongs to, and on no request's own time. */
function asOneOf<Result>(batch: readonly { readonly timeline: Timeline | undefined }[], run: () => Result): Result {
  if (batch.every(({ timeline }) => timeline === undefined)) return run()
  const traced = batch.find(({ timeline }) => timeline?.span)
  return new Timeline(traced?.timeline?.span ?? null).run(run)
}
