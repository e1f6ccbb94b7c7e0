import type { Question, Usage } from './chat-model.ts'

/** For an estimate: about right for English, and for scripts whose characters take three bytes. */
const BYTES_PER_TOKEN = 4

/**
 * Measures the tokens of an answer. Models report them at the end of an answer. Some report none, or only one of the two
 * counts, and none reports an answer that was stopped or failed: then they are estimated from the text.
 */
export class UsageMeter {
  readonly #inputBytes: number
  #outputBytes = 0
  /** A count that was not reported is 0. */
  #reported: Usage = { inputTokens: 0, outputTokens: 0 }
  #hasFailed = false

  constructor({ system, prompt }: Question) {
    this.#inputBytes = Buffer.byteLength(system) + Buffer.byteLength(prompt)
  }

  /** Adds a piece of the answer or of the reasoning. */
  add(text: string): void {
    this.#outputBytes += Buffer.byteLength(text)
  }

  report(reported: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined }): void {
    const { inputTokens = 0, outputTokens = 0 } = reported
    this.#reported = { inputTokens, outputTokens }
  }

  fail(): void {
    this.#hasFailed = true
  }

  /** Providers charge nothing for a call that they refuse. */
  get usage(): Usage {
    const { inputTokens, outputTokens } = this.#reported
    if (this.#hasFailed && this.#outputBytes === 0 && inputTokens + outputTokens === 0) return this.#reported
    return {
      inputTokens: inputTokens || tokens(this.#inputBytes),
      outputTokens: outputTokens || tokens(this.#outputBytes),
    }
  }
}

function tokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
