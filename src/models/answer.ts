import type { LanguageModelV4 } from '@ai-sdk/provider'
import { APICallError, streamText } from 'ai'
import { type Clock, pause } from '../clock.ts'
import { withoutHalf } from '../limits/code-points.ts'
import { traceHeaders } from '../tracing/trace-context.ts'
import { AnswerError, type AnswerFailure, type ChatModel, type Question } from './chat-model.ts'
import { answerError, isToBeIgnored, notUnderstood, retryAfterMs, type Service } from './failures.ts'
import { UsageMeter } from './usage.ts'

/** Time limit for the first output, over all calls and the pauses between them. */
const FIRST_PIECE_MAX_MS = 120_000

/** Time limit between two outputs: pieces of the answer, or of the model's reasoning before it. */
const SILENCE_MAX_MS = 60_000

/** Length limit of an answer, in UTF-16 code units. */
const ANSWER_MAX_CHARACTERS = 65_536

/** Retries of a call that has produced no output yet. The pause doubles each time. */
const RETRIES_MAX = 2
const RETRY_PAUSE_MS = 500

/** If a provider asks for a longer pause, there is no retry. */
const RETRY_AFTER_MAX_MS = 10_000

/** Models are offered no tools. Calls to tools are ignored up to this number, as the AI SDK keeps each of them in memory. */
const TOOL_CALLS_MAX = 100

/** The AI SDK's reason of a stream that ends before the answer does. */
const INTERRUPTED = 'interrupted'

/** Reasons for an incomplete answer, in the provider's own words, that the AI SDK does not tell from other reasons. */
const INCOMPLETE = new Map<string | undefined, 'length' | 'error' | 'content-filter' | typeof INTERRUPTED>([
  // Ollama and SGLang have sent it with each piece. It is the last word only if the stream was cut.
  ['', INTERRUPTED],
  ['content_filter', 'content-filter'], // Google's server for OpenAI's protocol, with a reason of its own behind a colon
  ['model_length', 'length'], // Mistral
  // Z.ai
  ['model_context_window_exceeded', 'length'],
  ['sensitive', 'content-filter'],
  ['network_error', 'error'],
  ['abort', 'error'], // vLLM
  ['error', 'error'], // OpenRouter
  ['insufficient_system_resource', 'error'], // DeepSeek
  // Google
  ['OTHER', 'error'],
  ['LANGUAGE', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
])

/** Failures that a retry may fix. */
const RETRYABLE: ReadonlySet<AnswerFailure> = new Set(['rate limited', 'provider failed', 'unreachable', 'cut off'])

// Otherwise the AI SDK writes warnings to the console.
globalThis.AI_SDK_LOG_WARNINGS = false

/** A model of the AI SDK, with its names for settings and messages. */
export interface ModelSource {
  /** As in CHAT_MODEL. */
  readonly name: string
  readonly languageModel: LanguageModelV4
  readonly service: Service
}

/** A chat model on top of the AI SDK that enforces the limits above. */
export function limitedModel(source: ModelSource, clock: Clock): ChatModel {
  return { name: source.name, answer: question => answer(source, question, clock) }
}

async function* answer(source: ModelSource, question: Question, clock: Clock): AsyncGenerator<string, void, undefined> {
  const watch = watchdog(clock)
  const stop = AbortSignal.any([question.signal, watch.signal])
  const { title } = source.service
  const meter = new UsageMeter(question)
  let length = 0
  let isBlank = true
  try {
    watch.expect(FIRST_PIECE_MAX_MS, () => tooSlow(title))
    for await (const text of callWithRetries(source, question, meter, stop, clock)) {
      watch.rest()
      const room = ANSWER_MAX_CHARACTERS - length
      const piece = text.length > room ? withoutHalf(text.slice(0, room)) : text
      length += piece.length
      isBlank &&= piece.trim() === ''
      if (piece !== '') yield piece
      if (text.length > room) throw tooLong()
      watch.expect(SILENCE_MAX_MS, () => silent(title))
    }
    if (isBlank) throw empty(title)
  } catch (error) {
    if (question.signal.aborted) return
    meter.fail()
    throw error
  } finally {
    watch.rest()
    question.onUsage?.(meter.usage)
  }
}

/** Yields as `call` does. Retries a failed call that has produced no output. */
async function* callWithRetries(
  source: ModelSource,
  question: Question,
  meter: UsageMeter,
  stop: AbortSignal,
  clock: Clock,
) {
  for (let retries = 0; ; retries += 1) {
    let hasOutput = false
    try {
      for await (const text of call(source, question, meter, stop)) {
        hasOutput = true
        yield text
      }
      return
    } catch (error) {
      stop.throwIfAborted()
      const failure = answerError(error, source.service, source.languageModel.modelId)
      const waitMs = hasOutput ? null : pauseBeforeRetry(failure, error, retries)
      if (waitMs === null) throw failure
      await pause(clock, waitMs, stop)
    }
  }
}

/**
 * Makes one call. Yields the pieces of the text, and an empty string for each piece of reasoning. The connection to the
 * provider is closed however the loop ends. Throws the AI SDK's errors.
 */
async function* call(
  { languageModel, service }: ModelSource,
  { system, prompt, trace }: Question,
  meter: UsageMeter,
  stop: AbortSignal,
) {
  const ended = new AbortController()
  let toolCalls = 0
  try {
    const { stream } = streamText({
      model: languageModel,
      instructions: system,
      prompt,
      abortSignal: AbortSignal.any([stop, ended.signal]),
      maxRetries: 0,
      ...(trace && { headers: traceHeaders(trace) }),
      telemetry: { isEnabled: false },
      // By default the AI SDK also writes errors to the console. They arrive in the stream.
      onError: () => {},
      // By default OpenAI stores answers for thirty days.
      providerOptions: { openai: { store: false } },
    })
    for await (const part of stream) {
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') meter.add(part.text)
      // PostgreSQL cannot store U+0000. CommonMark replaces it in the same way.
      if (part.type === 'text-delta' && part.text !== '') yield part.text.replaceAll('\0', '\uFFFD')
      else if (part.type === 'reasoning-delta') yield ''
      else if (part.type === 'error' && !isToBeIgnored(part.error, service)) throw part.error
      else if (part.type === 'abort') throw stop.reason
      else if (part.type === 'tool-input-start') {
        toolCalls += 1
        if (toolCalls > TOOL_CALLS_MAX) throw notUnderstood(service)
      } else if (part.type === 'finish') {
        if (part.finishReason !== INTERRUPTED) meter.report(part.totalUsage)
        const word = part.rawFinishReason?.split(':')[0]
        mustBeWhole(INCOMPLETE.get(word) ?? part.finishReason, service)
      }
    }
  } finally {
    ended.abort()
  }
}

function mustBeWhole(finishReason: string, { title }: Service): void {
  if (finishReason === INTERRUPTED) throw new Error('the stream ended before the answer was complete')
  if (finishReason === 'error') {
    throw new AnswerError('provider failed', `${title} ended the answer with an error: ask again.`)
  }
  if (finishReason === 'length') {
    throw new AnswerError('too long', `${title} reached the model's length limit: ask for a shorter answer.`)
  }
  if (finishReason === 'content-filter') {
    throw new AnswerError(
      'withheld',
      `${title} withheld some or all of the answer under its content rules: rephrase the question.`,
    )
  }
}

function pauseBeforeRetry(failure: AnswerError, cause: unknown, retries: number): number | null {
  if (!RETRYABLE.has(failure.failure) || retries >= RETRIES_MAX) return null
  const askedMs = APICallError.isInstance(cause) ? retryAfterMs(cause.responseHeaders ?? {}) : null
  if (askedMs !== null && askedMs > RETRY_AFTER_MAX_MS) return null
  return Math.max(askedMs ?? 0, RETRY_PAUSE_MS * 2 ** retries)
}

/**
 * A time limit that can be restarted. The AI SDK's own `timeout` does not suffice: `firstChunkMs` starts with the response
 * headers, and again with each call, and `chunkMs` also counts the time that our reader takes.
 */
function watchdog(clock: Clock) {
  const expired = new AbortController()
  let cancel = () => {}
  return {
    /** Aborted with the error from `expect` when the time is up. */
    signal: expired.signal,
    /** Starts the time limit. */
    expect: (milliseconds: number, error: () => AnswerError) => {
      cancel()
      cancel = clock.after(milliseconds, () => expired.abort(error()))
    },
    /** Ends the time limit. */
    rest: () => cancel(),
  }
}

function empty(title: string): AnswerError {
  return new AnswerError('empty', `${title} returned an empty answer: ask again, or rephrase the question.`)
}

function tooSlow(title: string): AnswerError {
  const seconds = FIRST_PIECE_MAX_MS / 1000
  return new AnswerError(
    'too slow to begin',
    `${title} did not begin to answer within ${seconds} seconds: try again a little later.`,
  )
}

function silent(title: string): AnswerError {
  const seconds = SILENCE_MAX_MS / 1000
  return new AnswerError(
    'fell silent',
    `${title} sent nothing for ${seconds} seconds in the middle of its answer: ask again.`,
  )
}

function tooLong(): AnswerError {
  const limit = `${ANSWER_MAX_CHARACTERS.toLocaleString('en')} characters`
  return new AnswerError('too long', `The answer reached the limit of ${limit} and was cut off: ask for a shorter one.`)
}
