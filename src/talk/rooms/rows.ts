import type { Message } from './repository.ts'

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

export function messageOf({ id, sender, text, sent_at, answer_to, stopped }: MessageRow): Message {
  return { id, sender, text, sentAt: new Date(sent_at), answerTo: answer_to, stopped: Boolean(stopped) }
}
