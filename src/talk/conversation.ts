import { AnswerError, type ChatModel } from '../models/chat-model.ts'
import type { Message, RoomRepository } from './rooms/repository.ts'
import { safePieces } from './safe-text.ts'

/** Number of stored messages sent to the model before the prompt. */
const CONTEXT_MESSAGES_MAX = 50

const SYSTEM_INSTRUCTION = 'You are a helpful assistant.'

/** The end of a turn that did not fail. */
export interface TurnEnd {
  /** Whether the signal was aborted before the answer was complete. */
  readonly stopped: boolean
  /** Whether the answer is stored. It is not if it was stopped before its first word, or if the room was emptied in the meantime. */
  readonly stored: boolean
}

export interface Conversation {
  /** The name of the user and of the room. */
  readonly room: string
  readonly rooms: RoomRepository
  readonly model: ChatModel
}

/**
 * Runs one turn: stores the prompt, asks the model, yields the answer as it arrives, and stores it at the end. The yielded
 * text is safe to show at a terminal, and the same text is stored.
 *
 * If the signal is aborted, the partial answer is stored and marked as stopped. If the model fails, throws an
 * `AnswerError`, and only the prompt is stored. Throws a `DatabaseUnavailableError` if something cannot be stored.
 */
export async function* turn(
  { room, rooms, model }: Conversation,
  prompt: string,
  signal: AbortSignal,
): AsyncGenerator<string, TurnEnd, undefined> {
  const { id, before } = await rooms.addPrompt(room, prompt, CONTEXT_MESSAGES_MAX)
  let text = ''
  const pieces = model.answer({ system: SYSTEM_INSTRUCTION, prompt: textForModel(before, prompt), signal })
  for await (const piece of safePieces(pieces)) {
    text += piece
    yield piece
  }
  const stopped = signal.aborted
  if (text === '' && !stopped) throw new AnswerError('empty', 'The answer has nothing to show: ask again.')
  const stored = text !== '' && (await rooms.addAnswer(id, text, stopped))
  return { stopped, stored }
}

/** The earlier messages, each as `<sender>: <text>`, then the prompt, separated by line breaks. */
function textForModel(before: readonly Message[], prompt: string): string {
  return [...before.map(({ sender, text }) => `${sender}: ${text}`), prompt].join('\n')
}

/** Whether the input ends the session: the word alone, in any letter case, with no other lines. */
export function isQuit(text: string): boolean {
  return /^[^\S\n]*quit[^\S\n]*$/i.test(text)
}
