import { type Clock, systemClock } from '../../src/clock.ts'
import { AnswerError, type ChatModel, type Question, type Usage } from '../../src/models/chat-model.ts'
import { openChatModel } from '../../src/models/open.ts'
import { chatBaseUrl, chatModel } from '../../src/models/settings.ts'
import { readCommandLine } from '../../src/program/config.ts'
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
  const pieces: string[] = []
  const usages: Usage[] = []
  let read = 0
  let over = false
  let changed = Promise.withResolvers<void>()
  const tell = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  const failed = failureOf(async () => {
    const onUsage = (usage: Usage) => usages.push(usage)
    const asked = question({ signal: stopping.signal, onUsage, ...(prompt !== undefined && { prompt }) })
    for await (const piece of model.answer(asked)) {
      pieces.push(piece)
      tell()
    }
  }).finally(() => {
    over = true
    tell()
  })
  return {
    pieces,
    usages,
    piece: async () => {
      for (;;) {
        const piece = pieces[read]
        if (piece !== undefined) {
          read += 1
          return piece
        }
        if (over) throw new Error(`the answer ended: ${(await failed)?.message}`)
        await changed.promise
      }
    },
    stop: () => stopping.abort(),
    isOver: () => over,
    end: async () => ({ failure: await failed, text: pieces.join('') }),
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
