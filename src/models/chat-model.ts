import type { TraceContext } from '../tracing/trace-context.ts'

/** The longest prompt that a user may send, in Unicode code points. */
export const PROMPT_MAX_CHARACTERS = 32_768

/** A language model, from any provider. */
export interface ChatModel {
  /** The name in the settings, for example `openai:gpt-5-mini`; `demo` for the offline model. Contains no secret. */
  readonly name: string
  /**
   * Asks the model, and yields its answer as it arrives: pieces of markdown, none of them empty, without U+0000.
   *
   * A call that fails before its first piece is retried a few times; later failures are final. Throws an `AnswerError` if
   * the answer fails or exceeds a limit; the pieces yielded so far remain valid. Returns without an error when the signal
   * is aborted. Aborting and leaving the loop both close the connection to the provider. An async generator cannot be left
   * while a piece is awaited: use the signal then.
   */
  readonly answer: (question: Question) => AsyncGenerator<string, void, undefined>
}

export interface Question {
  /** The system instruction. */
  readonly system: string
  readonly prompt: string
  /** Ends the answer at any point. */
  readonly signal: AbortSignal
  /** Is told once, when the answer has ended in any way. */
  readonly onUsage?: (usage: Usage) => void
  /** The trace that calls of the provider belong to. */
  readonly trace?: TraceContext | null
}

/** The tokens that an answer has used, estimated if the model does not report them. */
export interface Usage {
  readonly inputTokens: number
  /** Including those of the model's reasoning. */
  readonly outputTokens: number
}

/** Why an answer failed or was cut off. */
export type AnswerFailure =
  | 'credential refused'
  | 'no credit'
  | 'model unknown'
  | 'request refused'
  | 'rate limited'
  | 'provider failed'
  | 'unreachable'
  | 'not understood'
  | 'cut off'
  | 'empty'
  | 'withheld'
  | 'too slow to begin'
  | 'fell silent'
  | 'too long'

/**
 * An answer that failed. The message tells the user in a sentence or two what happened and what to do. It contains no
 * credential, no address, and no text from the provider.
 */
export class AnswerError extends Error {
  override name = 'AnswerError'
  readonly failure: AnswerFailure

  constructor(failure: AnswerFailure, message: string) {
    super(message)
    this.failure = failure
  }
}
