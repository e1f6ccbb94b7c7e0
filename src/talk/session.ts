import { PROMPT_MAX_CHARACTERS } from '../models/chat-model.ts'
import { countCodePoints } from '../text/code-points.ts'
import { type Conversation, isQuit, turn } from './conversation.ts'
import { whatFailed } from './failure.ts'
import { MODEL_SENDER } from './rooms/repository.ts'
import { safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'
import { timeText } from './transcript.ts'

/** Earlier prompts of the room that arrow-up brings back. */
const PROMPTS_RECALLED = 500

/** Messages of the room that are shown to who enters it, and lines of each. */
const MESSAGES_SHOWN = 4
const LINES_SHOWN = 8

const KEYS = 'Ctrl-C stops an answer, Alt-Enter breaks a line, arrow-up recalls, quit leaves.'
const STOPPED = '[stopped; what came is kept]'
const STOPPED_EMPTY = '[stopped]'

/** Line breaks at the end. Each run of line breaks is looked at once, and not again from each of its characters. */
const LAST_BREAKS = /(?<!\n)\n+$/

/** Talks with the user in their room until they leave. */
export async function talkIn(conversation: Conversation, terminal: Terminal): Promise<void> {
  const { room } = conversation
  await welcome(conversation, terminal)
  const recalled = await recalledPrompts(conversation, terminal)
  for (;;) {
    const typed = await terminal.ask({ text: promptMark(room), isBlock: true, recalled })
    if (typed === null || isQuit(typed)) return
    const prompt = safeText(typed).replace(LAST_BREAKS, '')
    if (prompt.trim() === '') continue
    const length = countCodePoints(prompt)
    if (length > PROMPT_MAX_CHARACTERS) {
      terminal.complain(`That has ${length} characters, and at most ${PROMPT_MAX_CHARACTERS} can be sent: shorten it.`)
      continue
    }
    if (recalled[0] !== prompt) recalled.unshift(prompt)
    recalled.length = Math.min(recalled.length, PROMPTS_RECALLED)
    await answered(conversation, terminal, prompt)
  }
}

async function welcome(conversation: Conversation, terminal: Terminal): Promise<void> {
  terminal.remark(`Welcome, ${conversation.room}.`)
  if (terminal.hasKeyboard) terminal.remark(KEYS)
  terminal.say('')
  try {
    await showWhereLeft(conversation, terminal)
  } catch (error) {
    terminal.complain(whatFailed(error))
  }
}

/** The last messages of the room, as they looked then. */
async function showWhereLeft({ room, rooms }: Conversation, terminal: Terminal): Promise<void> {
  const [count, messages] = await Promise.all([rooms.count(room), rooms.last(room, MESSAGES_SHOWN)])
  const newest = messages.at(-1)
  if (!newest) return
  const all = count === 1 ? '1 message is' : `${count} messages are`
  terminal.remark(`${all} kept here. The last, of ${timeText(newest.sentAt)}:\n`)
  for (const { sender, text, stopped } of messages) {
    if (sender === MODEL_SENDER) await terminal.show(safeText(text), LINES_SHOWN)
    else terminal.echo(promptMark(sender), safeText(text), LINES_SHOWN)
    if (stopped) terminal.remark(STOPPED)
    if (sender === MODEL_SENDER) terminal.say('')
  }
}

function promptMark(room: string): string {
  return `${room}> `
}

async function recalledPrompts({ room, rooms }: Conversation, terminal: Terminal): Promise<string[]> {
  try {
    return await rooms.prompts(room, PROMPTS_RECALLED)
  } catch (error) {
    terminal.complain(whatFailed(error))
    return []
  }
}

/** One turn, whatever becomes of it. */
async function answered(conversation: Conversation, terminal: Terminal, prompt: string): Promise<void> {
  using stop = terminal.interruptible()
  try {
    const { stopped, kept } = await terminal.answer(turn(conversation, prompt, stop.signal))
    if (stopped) terminal.remark(kept ? STOPPED : STOPPED_EMPTY)
    else if (!kept) terminal.complain('The room was emptied meanwhile: the answer is not stored.')
  } catch (error) {
    terminal.complain(whatFailed(error))
  }
  terminal.say('')
}
