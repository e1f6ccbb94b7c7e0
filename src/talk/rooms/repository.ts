/** What the model is called as a sender. */
export const MODEL_SENDER = 'ai'

/** What was said in a room, by a user or by the model. */
export interface Message {
  readonly id: number
  /** The user's name, or that of the model. */
  readonly sender: string
  readonly text: string
  readonly sentAt: Date
  /** The prompt that this is the answer to; `null` for a prompt. */
  readonly answerTo: number | null
  /** An answer that was stopped before its end. */
  readonly stopped: boolean
}

/** A prompt as it was stored, and the messages that were there before it. */
interface KeptPrompt {
  readonly id: number
  /** The last so many, the oldest first. */
  readonly before: readonly Message[]
}

/** What a store of messages must do. A room has its user's name. A write is on the disk when it resolves. */
export interface RoomRepository {
  /** Stores a prompt, and tells the last `limit` messages from before it, both at one moment. */
  keepPrompt(room: string, text: string, limit: number): Promise<KeptPrompt>
  /** Stores the answer to a prompt. False when the prompt has been forgotten meanwhile, and nothing was stored. */
  keepAnswer(promptId: number, text: string, stopped: boolean): Promise<boolean>
  /** The last so many messages, the oldest first. */
  last(room: string, limit: number): Promise<Message[]>
  /** The first so many prompts after this one, each followed by its answer, in the order in which they were asked. */
  turns(room: string, afterPromptId: number, limit: number): Promise<Message[]>
  /** The last so many prompts, the newest first. */
  prompts(room: string, limit: number): Promise<string[]>
  count(room: string): Promise<number>
  /** Deletes all messages, so that the files do not hold them either. */
  forget(room: string): Promise<void>
}
