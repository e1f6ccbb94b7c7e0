import type { ChatModel } from '../models/chat-model.ts'
import type { Message, RoomRepository } from './rooms/repository.ts'
import { SafeText } from './safe-text.ts'

/** Stored messages that the model is told before the prompt. */
const MESSAGES_TOLD = 50

const SYSTEM_INSTRUCTION = 'You are a helpful assistant.'

/** How an answer ended that did not fail. */
export interface TurnEnd {
  /** The signal said stop before the model was done. */
  readonly stopped: boolean
  /** Whether what came of the answer is stored. Not when nothing came, or the room was emptied meanwhile. */
  readonly kept: boolean
}

export interface Conversation {
  /** The user's name, and the room's. */
  readonly room: string
  readonly rooms: RoomRepository
  readonly model: ChatModel
}

/**
 * One turn: stores the prompt, asks the model, yields its answer as it comes, and stores that at its end. What is
 * yielded is safe to show at a terminal, and what is stored is just that.
 *
 * When the signal says stop, what came is stored, marked as stopped. Throws an `AnswerError` when the model fails: then
 * nothing but the prompt is stored. Throws a `DatabaseUnavailableError` when something cannot be stored.
 */
export async function* turn(
  { room, rooms, model }: Conversation,
  prompt: string,
  signal: AbortSignal,
): AsyncGenerator<string, TurnEnd, undefined> {
  const { id, before } = await rooms.keepPrompt(room, prompt, MESSAGES_TOLD)
  const safe = new SafeText()
  let text = ''
  const pieces = model.answer({ system: SYSTEM_INSTRUCTION, prompt: textForModel(before, prompt), signal })
  for await (const piece of pieces) {
    const shown = safe.append(piece)
    text += shown
    if (shown !== '') yield shown
  }
  const rest = safe.end()
  text += rest
  if (rest !== '') yield rest
  const stopped = signal.aborted
  const kept = text !== '' && (await rooms.keepAnswer(id, text, stopped))
  return { stopped, kept }
}

/** The messages from before the prompt, each as `<sender>: <text>`, then the prompt, with one line break between all. */
function textForModel(before: readonly Message[], prompt: string): string {
  return [...before.map(({ sender, text }) => `${sender}: ${text}`), prompt].join('\n')
}

/** Whether what was typed ends the session: the word alone, in any letter case, and not among other lines. */
export function isQuit(text: string): boolean {
  return /^\s*quit\s*$/i.test(text)
}
