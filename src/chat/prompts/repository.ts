/** What a store of prompts must do. A write is on the disk when it resolves. */
export interface PromptRepository {
  /**
   * Stores the prompt under `reqId`, in place of an earlier one. Once the answer has begun, nothing changes.
   * Resolves to the prompt that stands.
   */
  keep(reqId: string, text: string): Promise<string>
  /** `null` when none was stored, or it is no longer kept. */
  find(reqId: string): Promise<string | null>
  /**
   * Forgets some of the prompts that are too old or too many, the oldest first, with their answers; none whose answer is
   * under way. Resolves to how many they were: 0 when there is nothing left to forget.
   */
  forgetSome(): Promise<number>
}
