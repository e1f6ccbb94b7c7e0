/** A prompt from a client. */
export interface SentPrompt {
  readonly reqId: string
  readonly text: string
  /** The sender's key for the limits per address. */
  readonly address: string
}

/**
 * The storage of prompts. A write is on the disk when its promise resolves. Prompts are deleted with their answers, in
 * batches: a call resolves to the number it has deleted. `before` is a time of the store's clock. A prompt whose answer is
 * in progress is never deleted.
 */
export interface PromptRepository {
  /**
   * Stores the prompt under its id, or replaces the text of an earlier one unless its answer has begun. Resolves to the text
   * that is stored then. Resolves to `null` if a new prompt would exceed `perAddressMax` recent prompts of its address.
   */
  store(prompt: SentPrompt, perAddressMax: number): Promise<string | null>
  /** Resolves to the text; `null` if there is no such prompt. */
  find(reqId: string): Promise<string | null>
  count(): Promise<number>
  /** The store's clock, in milliseconds since 1970. */
  time(): Promise<number>
  /** Deletes prompts from before that time, the oldest first. */
  deleteOldest(before: number, max: number): Promise<number>
  /** Deletes prompts whose answers nobody has asked for, first those of the address that has the most. */
  deleteUnanswered(before: number, max: number): Promise<number>
  /** Removes the addresses from prompts from before that time. */
  removeAddresses(before: number): Promise<number>
}
