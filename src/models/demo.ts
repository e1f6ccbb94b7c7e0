import { ReadableStream } from 'node:stream/web'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import { type Clock, pause } from '../clock.ts'
import { demoAnswer } from './demo-answer.ts'

/** About the speed of a fast model. */
const PIECE_EVERY_MS = 20

/** A word with the spaces after it, or spaces alone: about the size of a token. */
const PIECE = /\S*\s+|\S+/g

const NO_USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
}

/** An imitation of an AI SDK model: it streams a fixed answer, and needs no network. */
export function demoModel(clock: Clock): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'demo',
    modelId: 'demo',
    supportedUrls: {},
    doGenerate: async () => {
      throw new Error('the demo model only streams')
    },
    doStream: async options => ({ stream: ReadableStream.from(parts(options, clock)) }),
  }
}

async function* parts(
  { prompt, abortSignal = new AbortController().signal }: LanguageModelV4CallOptions,
  clock: Clock,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: 'answer' }
  for (const delta of demoAnswer(question(prompt)).match(PIECE) ?? []) {
    await pause(clock, PIECE_EVERY_MS, abortSignal)
    abortSignal.throwIfAborted()
    yield { type: 'text-delta', id: 'answer', delta }
  }
  yield { type: 'text-end', id: 'answer' }
  yield { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage: NO_USAGE }
}

/** The text of the last message. */
function question(prompt: LanguageModelV4Prompt): string {
  const last = prompt.at(-1)
  if (last?.role !== 'user') return ''
  return last.content.map(part => (part.type === 'text' ? part.text : '')).join('')
}
