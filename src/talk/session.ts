import { countCodePoints } from '../limits/code-points.ts'
import { PROMPT_MAX_CHARACTERS } from '../models/chat-model.ts'
import { type Conversation, isQuit, turn } from './conversation.ts'
import { failureMessage } from './failure-message.ts'
import { MODEL_SENDER } from './rooms/repository.ts'
import { safeLine, safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'
import { timeText } from './transcript.ts'

/** Number of earlier prompts that arrow-up brings back. */
const PROMPTS_RECALLED = 500

/** Number of messages shown at the start, and of lines shown of each. */
const MESSAGES_SHOWN = 4
const LINES_SHOWN = 8

const KEYS = 'Ctrl-C stops an answer, Alt-Enter breaks a line, arrow-up recalls, quit leaves.'
const STOPPED = '[stopped; the answer so far is stored]'
const STOPPED_EMPTY = '[stopped]'

/** Trailing line breaks. The lookbehind keeps the time linear: a run of line breaks is tried once, not at each break. */
const TRAILING_BREAKS = /(?<!\n)\n+$/

/** Talks with the user until they leave. */
export async function runSession(conversation: Conversation, terminal: Terminal): Promise<void> {
  const { room } = conversation
  await welcome(conversation, terminal)
  const history = await promptHistory(conversation, terminal)
  for (;;) {
    const typed = await terminal.ask({ text: promptMark(room), isMultiline: true, history })
    if (typed === null || isQuit(typed)) return
    const prompt = safeText(typed).replace(TRAILING_BREAKS, '')
    if (prompt.trim() === '') continue
    const length = countCodePoints(prompt)
    if (length > PROMPT_MAX_CHARACTERS) {
      terminal.error(`The prompt has ${length} characters, and the limit is ${PROMPT_MAX_CHARACTERS}: shorten it.`)
      continue
    }
    if (history[0] !== prompt) history.unshift(prompt)
    history.length = Math.min(history.length, PROMPTS_RECALLED)
    await runTurn(conversation, terminal, prompt)
  }
}

async function welcome(conversation: Conversation, terminal: Terminal): Promise<void> {
  terminal.note(`Welcome, ${conversation.room}.`)
  if (terminal.hasKeyboard) terminal.note(KEYS)
  terminal.say('')
  await showLastMessages(conversation, terminal).catch(error => terminal.error(failureMessage(error)))
}

/** Shows the last messages of the room, laid out as they were when they were written. */
async function showLastMessages({ room, rooms }: Conversation, terminal: Terminal): Promise<void> {
  const [count, messages] = await Promise.all([rooms.count(room), rooms.last(room, MESSAGES_SHOWN)])
  const newest = messages.at(-1)
  if (!newest) return
  const all = count === 1 ? '1 message is' : `${count} messages are`
  terminal.note(`${all} stored here. The last is from ${timeText(newest.sentAt)}:\n`)
  for (const { sender, text, stopped } of messages) {
    if (sender === MODEL_SENDER) await terminal.show(safeText(text), LINES_SHOWN)
    else terminal.echo(promptMark(safeLine(sender)), safeText(text), LINES_SHOWN)
    if (stopped) terminal.note(STOPPED)
    if (sender === MODEL_SENDER) terminal.say('')
  }
}

function promptMark(room: string): string {
  return `${room}> `
}

async function promptHistory({ room, rooms }: Conversation, terminal: Terminal): Promise<string[]> {
  try {
    return (await rooms.prompts(room, PROMPTS_RECALLED)).map(safeText)
  } catch (error) {
    terminal.error(failureMessage(error))
    return []
  }
}

/** Runs one turn, and tells the user how it ended unless the answer is complete. */
async function runTurn(conversation: Conversation, terminal: Terminal, prompt: string): Promise<void> {
  using stop = terminal.interruptible()
  try {
    const { stopped, stored } = await terminal.answer(turn(conversation, prompt, stop.signal))
    if (stopped) terminal.note(stored ? STOPPED : STOPPED_EMPTY)
    else if (!stored) terminal.error('The room was emptied in the meantime: the answer is not stored.')
  } catch (error) {
    terminal.error(failureMessage(error))
  }
  terminal.say('')
}
