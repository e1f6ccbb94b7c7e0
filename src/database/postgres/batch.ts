import { DatabaseUnavailableError } from '../errors.ts'

/** How much is under way at once. */
interface InFlight {
  /** Inputs that come while so many statements are under way wait for the next one. */
  readonly statementsMax: number
  /** Inputs that one statement takes. */
  readonly inputsMax: number
}

const IN_FLIGHT: InFlight = { statementsMax: 2, inputsMax: 128 }

/** Inputs that wait; one more is turned away. */
const WAITING_MAX = 8_192

interface Waiting<Input, Output> {
  readonly input: Input
  readonly resolve: (output: Output) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins what is asked at the same time into one statement: the database plans, runs and commits once for all of them. When
 * it has nothing to do, nothing waits. The inputs of a statement share its fate: if it fails, it fails for all of them.
 */
export class Batch<Input, Output> {
  readonly #run: (inputs: readonly Input[]) => Promise<readonly Output[]>
  readonly #inFlight: InFlight
  #waiting: Waiting<Input, Output>[] = []
  #running = 0
  #isScheduled = false

  /** `run` resolves to one output for each input, in their order. */
  constructor(run: (inputs: readonly Input[]) => Promise<readonly Output[]>, inFlight = IN_FLIGHT) {
    this.#run = run
    this.#inFlight = inFlight
  }

  add(input: Input): Promise<Output> {
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(new DatabaseUnavailableError(`${WAITING_MAX} requests are waiting already`))
    }
    return new Promise<Output>((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#schedule()
    })
  }

  /** After this turn of the event loop, so that all requests that have arrived go together. */
  #schedule(): void {
    if (this.#isScheduled || this.#running >= this.#inFlight.statementsMax || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      void this.#begin()
    })
  }

  async #begin(): Promise<void> {
    const batch = this.#waiting.splice(0, this.#inFlight.inputsMax)
    this.#running += 1
    this.#schedule()
    try {
      const outputs = await this.#run(batch.map(({ input }) => input))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const output = outputs[index]
        if (output === undefined) reject(new Error('a statement for several inputs has answered fewer'))
        else resolve(output)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
      // They would wait as long again for the same.
      if (error instanceof DatabaseUnavailableError) for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
    this.#running -= 1
    this.#schedule()
  }
}
