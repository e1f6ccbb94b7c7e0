import { type Conversation, isQuit, turn } from './conversation.ts'
import { whatFailed } from './failure.ts'
import { safeText } from './safe-text.ts'
import type { Terminal } from './terminal/terminal.ts'
import { headline } from './transcript.ts'

/** Earlier prompts of the room that arrow-up brings back. */
const PROMPTS_RECALLED = 500

/** Messages of the room that are shown to who enters it, and lines of each. */
const MESSAGES_SHOWN = 4
const LINES_SHOWN = 8

/** Counted in code points. */
const PROMPT_MAX_CHARACTERS = 32_768

/** Talks with the user in their room until they leave. */
export async function talkIn(conversation: Conversation, terminal: Terminal): Promise<void> {
  const { room } = conversation
  await welcome(conversation, terminal)
  const recalled = await recalledPrompts(conversation, terminal)
  for (;;) {
    const typed = await terminal.ask({ text: `${room}> `, isBlock: true, recalled })
    if (typed === null || isQuit(typed)) return
    const prompt = safeText(typed).replace(/\n+$/, '')
    if (prompt.trim() === '') continue
    const length = [...prompt].length
    if (length > PROMPT_MAX_CHARACTERS) {
      terminal.complain(`That has ${length} characters, and at most ${PROMPT_MAX_CHARACTERS} can be sent: shorten it.`)
      continue
    }
    if (recalled[0] !== prompt) recalled.unshift(prompt)
    recalled.length = Math.min(recalled.length, PROMPTS_RECALLED)
    await answered(conversation, terminal, prompt)
  }
}

async function welcome({ room, rooms, model }: Conversation, terminal: Terminal): Promise<void> {
  terminal.remark(`Hello ${room}, you talk with ${model.name}. Ctrl-C stops an answer; quit, Ctrl-C or Ctrl-D leaves.`)
  try {
    const [count, messages] = await Promise.all([rooms.count(room), rooms.last(room, MESSAGES_SHOWN)])
    if (count === 0) return terminal.say('')
    terminal.remark(`Messages in your room: ${count}. This is where you were:\n`)
    for (const message of messages) {
      terminal.remark(headline(message))
      await terminal.show(safeText(message.text), LINES_SHOWN)
      terminal.say('')
    }
  } catch (error) {
    terminal.complain(whatFailed(error))
  }
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
    if (stopped) terminal.remark(kept ? '[stopped; what came is kept]' : '[stopped]')
    else if (!kept) terminal.complain('The room was emptied meanwhile: the answer is not stored.')
  } catch (error) {
    terminal.complain(whatFailed(error))
  }
  terminal.say('')
}
