import { type Clock, systemClock } from '../../src/clock.ts'
import { AnswerError, type ChatModel, type Question, type Usage } from '../../src/models/chat-model.ts'
import { openChatModel } from '../../src/models/open.ts'
import { chatBaseUrl, chatModel } from '../../src/models/settings.ts'
import { readCommandLine } from '../../src/program/config.ts'
import { arrivals } from './arrivals.ts'
import { withVariables } from './environment.ts'

/** Opens the model that these settings choose, as a command does, ignoring the environment of the tests. */
export function openModel(settings: Record<string, string>, clock: Clock = impatientClock): Promise<ChatModel> {
  return withVariables(['CHAT_', 'OPENAI_', 'ANTHROPIC_', 'GOOGLE_'], settings, async () => {
    const line = readCommandLine([], [chatModel, chatBaseUrl])
    return await openChatModel(line.value(chatModel), line.value(chatBaseUrl), { clock, asksForUsage: true })
  })
}

/** The machine's clock, but pauses of up to a second are skipped; time limits, which are longer, remain. */
const impatientClock: Clock = {
  ...systemClock,
  after: (milliseconds, callback) => {
    if (milliseconds > 1_000) return systemClock.after(milliseconds, callback)
    const next = setImmediate(callback)
    return () => clearImmediate(next)
  },
}

export function question(change: Partial<Question> = {}): Question {
  return {
    system: 'Answer in markdown only.',
    prompt: 'What is a spade?',
    signal: new AbortController().signal,
    ...change,
  }
}

export interface Answering {
  /** All pieces so far. */
  readonly pieces: readonly string[]
  /** The next piece; fails if the answer has ended. */
  readonly piece: () => Promise<string>
  readonly stop: () => void
  readonly isOver: () => boolean
  /** The whole text, and why the answer failed. */
  readonly end: () => Promise<{ text: string; failure: AnswerError | null }>
  /** The usage that the answer has reported so far. */
  readonly usages: readonly Usage[]
}

/** Asks a question and reads the answer as it arrives. */
export function ask(model: ChatModel, { prompt }: { prompt?: string } = {}): Answering {
  const stopping = new AbortController()
  const pieces = arrivals<string>(async () => new Error(`the answer ended: ${(await failed)?.message}`))
  const usages: Usage[] = []
  const failed = failureOf(async () => {
    const onUsage = (usage: Usage) => usages.push(usage)
    const asked = question({ signal: stopping.signal, onUsage, ...(prompt !== undefined && { prompt }) })
    for await (const piece of model.answer(asked)) pieces.add(piece)
  }).finally(pieces.end)
  return {
    pieces: pieces.all,
    usages,
    piece: pieces.next,
    stop: () => stopping.abort(),
    isOver: pieces.isOver,
    end: async () => ({ failure: await failed, text: pieces.all.join('') }),
  }
}

export async function failureOf(work: () => Promise<void>): Promise<AnswerError | null> {
  try {
    await work()
    return null
  } catch (error) {
    if (error instanceof AnswerError) return error
    throw error
  }
}
