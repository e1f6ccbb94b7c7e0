/** A prompt as it was sent. */
export interface SentPrompt {
  readonly reqId: string
  readonly text: string
  /** Under what its sender counts for the bounds per address. */
  readonly address: string
}

/**
 * What a store of prompts must do. A write is on the disk when it resolves. `before` is a time of the store's clock; no
 * prompt whose answer is under way is ever forgotten, and a call forgets a bounded number: it resolves to how many.
 */
export interface PromptRepository {
  /**
   * Stores the prompt under its id, in place of an earlier one. Once the answer has begun, nothing changes. Resolves to the
   * text that stands, or to null if a new prompt may not be added, because `perAddressMax` recent ones of its address are
   * stored already.
   */
  keep(prompt: SentPrompt, perAddressMax: number): Promise<string | null>
  /** `null` when none was stored, or it is no longer kept. */
  find(reqId: string): Promise<string | null>
  count(): Promise<number>
  /** The store's clock, in milliseconds since 1970. */
  time(): Promise<number>
  /** Forgets the oldest of those that are older, with their answers. */
  forgetOldest(before: number, max: number): Promise<number>
  /** Forgets prompts whose answers nobody has asked for; first those of the address that has the most. */
  forgetUnanswered(before: number, max: number): Promise<number>
  /** Forgets where older prompts came from, and keeps the prompts. */
  forgetAddresses(before: number): Promise<number>
}
