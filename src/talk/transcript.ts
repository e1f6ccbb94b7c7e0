import { type Fence, fenceAfter } from './fence.ts'
import { type Message, MODEL_SENDER } from './rooms/repository.ts'
import { safeJson, safeLine, safeText } from './safe-text.ts'

/** Sender and time of a message, in one line. */
export function headline({ sender, sentAt, stopped }: Message): string {
  return `${safeLine(sender)}, ${timeText(sentAt)}${stopped ? ', stopped' : ''}`
}

/** A message for a markdown document. The user's text is quoted, because it is not markdown. */
export function markdownOf(message: Message): string {
  const text = safeText(message.text)
  const shown = message.sender === MODEL_SENDER ? withClosedFence(text) : `> ${text.replaceAll('\n', '\n> ')}`
  return `**${safeLine(message.sender)}**, ${timeText(message.sentAt)}${message.stopped ? ' (stopped)' : ''}\n\n${shown}\n`
}

/** A message as one line of JSON, for scripts. */
export function jsonOf({ sender, text, sentAt, stopped }: Message): string {
  return safeJson({ sender, text, timestamp: sentAt.toISOString(), stopped })
}

export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** Closes an open fence. Otherwise an answer that was stopped within code turns the rest of the document into code. */
function withClosedFence(text: string): string {
  let open: Fence | null = null
  for (const line of text.split('\n')) open = fenceAfter(line, open)
  return open ? `${text}\n${' '.repeat(open.indentation)}${open.marks}` : text
}
