import type { LanguageModelV4 } from '@ai-sdk/provider'
import { APICallError, streamText } from 'ai'
import { type Clock, pause } from '../clock.ts'
import { AnswerError, type AnswerFailure, type ChatModel, type Question } from './chat-model.ts'
import { answerError, notUnderstood, type Service } from './failures.ts'
import { retryAfterMs } from './retry-after.ts'

/** From the question to the first sign of an answer, all calls and the pauses between them together. */
const FIRST_PIECE_MAX_MS = 120_000

/** Between two signs of an answer: pieces of its text, or of what the model thinks before it. */
const SILENCE_MAX_MS = 60_000

/** Counted as JavaScript counts, in UTF-16 units. */
const ANSWER_MAX_CHARACTERS = 65_536

/** Calls after the first, for an answer that has not begun. The pause doubles each time. */
const RETRIES_MAX = 2
const RETRY_PAUSE_MS = 500

/** A provider that asks for a longer pause is not asked again. */
const RETRY_AFTER_MAX_MS = 10_000

/** No tool is offered; a model that calls one all the same is let be, but each call is kept until the answer ends. */
const TOOL_CALLS_MAX = 100

/** What may be otherwise a moment later. */
const PASSING: ReadonlySet<AnswerFailure> = new Set(['rate limited', 'provider failed', 'unreachable', 'cut off'])

// The AI SDK writes warnings to the console, which is no place of ours.
globalThis.AI_SDK_LOG_WARNINGS = false

/** A model of the AI SDK, and how to speak of it. */
export interface Source {
  /** As in CHAT_MODEL. */
  readonly name: string
  readonly languageModel: LanguageModelV4
  readonly service: Service
}

/** Answers with a model of the AI SDK, within the bounds above. */
export function answering(source: Source, clock: Clock): ChatModel {
  return { name: source.name, answer: question => answer(source, question, clock) }
}

async function* answer(source: Source, question: Question, clock: Clock): AsyncGenerator<string, void, undefined> {
  const watch = watchdog(clock)
  const stop = AbortSignal.any([question.signal, watch.signal])
  const { title } = source.service
  let length = 0
  try {
    watch.expect(FIRST_PIECE_MAX_MS, () => tooSlow(title))
    for await (const text of callUntilBegun(source, question, stop, clock)) {
      watch.rest()
      const room = ANSWER_MAX_CHARACTERS - length
      const piece = text.length > room ? startOf(text, room) : text
      length += piece.length
      if (piece !== '') yield piece
      if (text.length > room) throw tooLong()
      watch.expect(SILENCE_MAX_MS, () => silent(title))
    }
    if (length === 0) throw empty(title)
  } catch (error) {
    if (question.signal.aborted) return
    throw error
  } finally {
    watch.rest()
  }
}

/** Calls again, a few times, while no call has begun to answer. Yields as `call` does. */
async function* callUntilBegun(source: Source, question: Question, stop: AbortSignal, clock: Clock) {
  for (let retries = 0; ; retries += 1) {
    let begun = false
    try {
      for await (const text of call(source, question, stop)) {
        begun = true
        yield text
      }
      return
    } catch (error) {
      stop.throwIfAborted()
      const failure = answerError(error, source.service, source.languageModel.modelId)
      const waitMs = begun ? null : pauseBeforeRetry(failure, error, retries)
      if (waitMs === null) throw failure
      await pause(clock, waitMs, stop)
      stop.throwIfAborted()
    }
  }
}

/**
 * One call: the pieces of its text, and an empty one for each piece of a thought. Whichever way it is left, the
 * provider's connection is closed. Throws whatever the AI SDK has to say of a failure.
 */
async function* call({ languageModel, service }: Source, { system, prompt }: Question, stop: AbortSignal) {
  const left = new AbortController()
  let toolCalls = 0
  try {
    const { stream } = streamText({
      model: languageModel,
      instructions: system,
      prompt,
      abortSignal: AbortSignal.any([stop, left.signal]),
      maxRetries: 0,
      telemetry: { isEnabled: false },
      // Without it, errors are written to the console; they come through the stream as well.
      onError: () => {},
      // OpenAI keeps answers for thirty days unless it is told not to.
      providerOptions: { openai: { store: false } },
    })
    for await (const part of stream) {
      // PostgreSQL cannot store U+0000, and CommonMark replaces it, too.
      if (part.type === 'text-delta' && part.text !== '') yield part.text.replaceAll('\0', '\uFFFD')
      else if (part.type === 'reasoning-delta') yield ''
      else if (part.type === 'error') throw part.error
      else if (part.type === 'abort') throw stop.reason
      else if (part.type === 'tool-input-start') {
        toolCalls += 1
        if (toolCalls > TOOL_CALLS_MAX) throw notUnderstood(service)
      } else if (part.type === 'finish') mustBeWhole(part.finishReason, service)
    }
  } finally {
    left.abort()
  }
}

function mustBeWhole(finishReason: string, { title }: Service): void {
  if (finishReason === 'interrupted') throw new Error('the stream ended before the answer did')
  if (finishReason === 'length') {
    throw new AnswerError('too long', `${title} came to the end of what the model may write: ask for less at once.`)
  }
  if (finishReason === 'content-filter') {
    throw new AnswerError('withheld', `${title} withheld the answer, or its rest, by its content rules: ask otherwise.`)
  }
}

function pauseBeforeRetry(failure: AnswerError, cause: unknown, retries: number): number | null {
  if (!PASSING.has(failure.failure) || retries >= RETRIES_MAX) return null
  const askedMs = APICallError.isInstance(cause) ? retryAfterMs(cause.responseHeaders ?? {}) : null
  if (askedMs !== null && askedMs > RETRY_AFTER_MAX_MS) return null
  return Math.max(askedMs ?? 0, RETRY_PAUSE_MS * 2 ** retries)
}

interface Watchdog {
  /** Is given as its reason the error that `expect` was called with. */
  readonly signal: AbortSignal
  /** From now on something must happen within the time. */
  readonly expect: (milliseconds: number, late: () => AnswerError) => void
  readonly rest: () => void
}

function watchdog(clock: Clock): Watchdog {
  const expired = new AbortController()
  let callOff = () => {}
  const rest = () => callOff()
  const expect = (milliseconds: number, late: () => AnswerError) => {
    rest()
    callOff = clock.after(milliseconds, () => expired.abort(late()))
  }
  return { signal: expired.signal, expect, rest }
}

/** At most so many UTF-16 units, without half a character at the end. */
function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
}

function empty(title: string): AnswerError {
  return new AnswerError('empty', `${title} ended its answer without a word: ask again, or otherwise.`)
}

function tooSlow(title: string): AnswerError {
  const seconds = FIRST_PIECE_MAX_MS / 1000
  return new AnswerError('too slow to begin', `${title} sent no word for ${seconds} seconds: try again a little later.`)
}

function silent(title: string): AnswerError {
  const seconds = SILENCE_MAX_MS / 1000
  return new AnswerError('fell silent', `${title} fell silent amid its answer for ${seconds} seconds: ask again.`)
}

function tooLong(): AnswerError {
  const bound = `${ANSWER_MAX_CHARACTERS.toLocaleString('en')} characters`
  return new AnswerError('too long', `The answer grew longer than ${bound} and was ended there: ask for less at once.`)
}
