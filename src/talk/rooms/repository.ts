/** The model's name as a sender. */
export const MODEL_SENDER = 'ai'

/** A message in a room, from a user or from the model. */
export interface Message {
  readonly id: number
  /** The user's name or the model's. */
  readonly sender: string
  readonly text: string
  readonly sentAt: Date
  /** The id of the prompt that this message answers; `null` for a prompt. */
  readonly answerTo: number | null
  /** Whether this is an answer that was stopped. */
  readonly stopped: boolean
}

/** A message as either engine reads it. */
export interface MessageRow {
  readonly id: number
  readonly sender: string
  readonly text: string
  /** In milliseconds since 1970. */
  readonly sent_at: number
  readonly answer_to: number | null
  readonly stopped: boolean | 0 | 1
}

/** A stored prompt, with the messages before it. */
interface AddedPrompt {
  readonly id: number
  /** The last messages before the prompt, the oldest first. */
  readonly before: readonly Message[]
}

/** The storage of rooms. Each belongs to one user, and has its name. A write is on the disk when its promise resolves. */
export interface RoomRepository {
  /** Creates the user's account and room. Resolves to false, and changes nothing, if the name is taken. */
  register(username: string, passwordDigest: string): Promise<boolean>
  /** Resolves to `null` if there is no account with exactly this name. */
  passwordDigest(username: string): Promise<string | null>
  /** Stores a prompt and reads the last `limit` messages before it, atomically. */
  addPrompt(room: string, text: string, limit: number): Promise<AddedPrompt>
  /** Stores the answer to a prompt. Resolves to false, and stores nothing, if the prompt has been deleted. */
  addAnswer(promptId: number, text: string, stopped: boolean): Promise<boolean>
  /** The last `limit` messages, the oldest first. */
  last(room: string, limit: number): Promise<Message[]>
  /** The first `limit` prompts after this one, each followed by its answer, in the order of the prompts. */
  turns(room: string, afterPromptId: number, limit: number): Promise<Message[]>
  /** The last `limit` prompts, the newest first. */
  prompts(room: string, limit: number): Promise<string[]>
  count(room: string): Promise<number>
  /** Deletes all messages. A SQLite file no longer contains their text. */
  deleteMessages(room: string): Promise<unknown>
}

export function messageOf({ id, sender, text, sent_at, answer_to, stopped }: MessageRow): Message {
  return { id, sender, text, sentAt: new Date(sent_at), answerTo: answer_to, stopped: Boolean(stopped) }
}
