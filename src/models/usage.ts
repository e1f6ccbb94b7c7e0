import type { Question, Usage } from './chat-model.ts'

/** For an estimate: about right for English, and for scripts whose characters take three bytes. */
const BYTES_PER_TOKEN = 4

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0, isEstimate: false }

/**
 * Measures the tokens of an answer. Models report them at the end of an answer. Some report none, and none reports an answer
 * that was stopped or failed: then they are estimated from the text.
 */
export class UsageMeter {
  readonly #inputBytes: number
  #outputBytes = 0
  #reported: Usage | null = null
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
    if (inputTokens > 0) this.#reported = { inputTokens, outputTokens, isEstimate: false }
  }

  fail(): void {
    this.#hasFailed = true
  }

  /** Providers charge nothing for a call that they refuse. */
  get usage(): Usage {
    if (this.#reported) return this.#reported
    if (this.#hasFailed && this.#outputBytes === 0) return NOTHING
    return { inputTokens: tokens(this.#inputBytes), outputTokens: tokens(this.#outputBytes), isEstimate: true }
  }
}

function tokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}
