/** The longest prompt that a user may send, in Unicode code points. */
export const PROMPT_MAX_CHARACTERS = 32_768

/** A language model that answers prompts, whichever it is. */
export interface ChatModel {
  /** As it is chosen, for example `openai:gpt-5-mini`; `demo` for the offline one. Holds no secret. */
  readonly name: string
  /**
   * Asks the model, and yields its answer as it comes: pieces of markdown, none of them empty.
   *
   * A call that fails before its first piece is made again a few times; one that has begun never. Throws an
   * `AnswerError` when the answer fails or has to be ended; what was yielded until then stands. Returns quietly when the
   * signal says stop. Stopping and leaving the loop both close the provider's connection; to end it while a piece is
   * awaited, use the signal, as an async generator cannot be left meanwhile.
   */
  readonly answer: (question: Question) => AsyncGenerator<string, void, undefined>
}

export interface Question {
  /** The instruction that the model answers under. */
  readonly system: string
  readonly prompt: string
  /** Ends the answer, wherever it is. */
  readonly signal: AbortSignal
}

/** Why an answer failed, or was ended before the model was done. */
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
 * An answer that failed. Its message is one sentence or two for whoever asked: what happened and what to do. It holds
 * no credential, no address, and nothing that the provider wrote.
 */
export class AnswerError extends Error {
  override name = 'AnswerError'
  readonly failure: AnswerFailure

  constructor(failure: AnswerFailure, message: string) {
    super(message)
    this.failure = failure
  }
}
