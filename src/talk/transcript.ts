import { closesFence, type Fence, openingFence } from './fence.ts'
import { type Message, MODEL_SENDER } from './rooms/repository.ts'
import { safeLine, safeText } from './safe-text.ts'

/** Who said it and when, in one line. */
export function headline({ sender, sentAt, stopped }: Message): string {
  return `${safeLine(sender)}, ${timeText(sentAt)}${stopped ? ', stopped' : ''}`
}

/** As part of a markdown document. What a user wrote is quoted, since it is no markdown. */
export function markdownOf(message: Message): string {
  const text = safeText(message.text)
  const shown = message.sender === MODEL_SENDER ? withClosedFence(text) : text.replace(/^/gm, '> ')
  return `**${safeLine(message.sender)}**, ${timeText(message.sentAt)}${message.stopped ? ' (stopped)' : ''}\n\n${shown}\n`
}

/** One line of JSON, for scripts. */
export function jsonOf({ sender, text, sentAt, stopped }: Message): string {
  return JSON.stringify({ sender, text, timestamp: sentAt.toISOString(), stopped })
}

export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** An answer that was stopped in its code would make code of all that follows it. */
function withClosedFence(text: string): string {
  let open: Fence | null = null
  for (const line of text.split('\n')) {
    if (open) open = closesFence(line, open) ? null : open
    else open = openingFence(line)
  }
  return open ? `${text}\n${' '.repeat(open.indentation)}${open.marks}` : text
}
