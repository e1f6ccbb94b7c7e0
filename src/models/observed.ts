import { getLogger } from '@logtape/logtape'
import { counter, type Family, gauge, histogram } from '../metrics/family.ts'
import { Histogram, SECONDS } from '../metrics/histogram.ts'
import type { Tracing } from '../tracing/open.ts'
import type { TraceContext } from '../tracing/trace-context.ts'
import { AnswerError, type ChatModel, type Question, type Usage } from './chat-model.ts'

const log = getLogger(['stockroom', 'model'])

/** Answers take longer than requests. */
const ANSWER_SECONDS = [...SECONDS, 30, 60, 120, 300]

/** A chat model that counts its answers, with a span for each, and a line in the log for each that is slow to begin. */
export class ObservedModel implements ChatModel {
  readonly name: string
  readonly #model: ChatModel
  readonly #tracing: Tracing
  /** By how they ended. */
  readonly #answers = new Map<string, number>()
  readonly #firstPieceSeconds = new Histogram(ANSWER_SECONDS)
  readonly #seconds = new Histogram(ANSWER_SECONDS)
  readonly #tokens = { input: 0, output: 0 }
  #inProgress = 0

  constructor(model: ChatModel, tracing: Tracing) {
    this.name = model.name
    this.#model = model
    this.#tracing = tracing
  }

  async *answer(question: Question): AsyncGenerator<string, void, undefined> {
    const start = performance.now()
    const parent = question.trace ?? null
    const span = this.#tracing.tracer?.begin({ name: () => `chat ${this.name}`, kind: 'client', parent, start })
    let usage: Usage | null = null
    const onUsage = (told: Usage) => {
      usage = told
      this.#tokens.input += told.inputTokens
      this.#tokens.output += told.outputTokens
      question.onUsage?.(told)
    }
    let firstMs: number | null = null
    let error: string | null = null
    let isFinished = false
    this.#inProgress += 1
    try {
      for await (const piece of this.#model.answer({ ...question, onUsage, trace: span?.context ?? parent })) {
        if (firstMs === null) {
          firstMs = performance.now() - start
          this.#hasBegun(firstMs, parent)
        }
        yield piece
      }
      isFinished = !question.signal.aborted
    } catch (thrown) {
      error = thrown instanceof AnswerError ? thrown.failure.replaceAll(' ', '_') : 'failed'
      throw thrown
    } finally {
      this.#inProgress -= 1
      this.#seconds.observe((performance.now() - start) / 1_000)
      const outcome = error ?? (isFinished ? 'finished' : 'stopped')
      this.#answers.set(outcome, (this.#answers.get(outcome) ?? 0) + 1)
      span?.end({ attributes: this.#attributes(firstMs, usage), error })
    }
  }

  families(): Family[] {
    const labels = this.#labels
    return [
      gauge('stockroom_model_answers_in_progress', 'Answers that the model is writing.', [
        { labels, value: this.#inProgress },
      ]),
      counter(
        'stockroom_model_answers_total',
        'Answers of the model, by how they ended: finished, stopped, or why they failed.',
        [...this.#answers].map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
      ),
      counter(
        'stockroom_model_tokens_total',
        'Tokens of questions (input) and of answers and reasoning (output), estimated if the model does not report them.',
        [
          { labels: { ...labels, direction: 'input' }, value: this.#tokens.input },
          { labels: { ...labels, direction: 'output' }, value: this.#tokens.output },
        ],
      ),
      histogram('stockroom_model_first_piece_duration_seconds', 'Time until the first piece of an answer.', [
        { labels, value: this.#firstPieceSeconds },
      ]),
      histogram('stockroom_model_answer_duration_seconds', 'Time until the end of an answer.', [
        { labels, value: this.#seconds },
      ]),
    ]
  }

  #hasBegun(firstMs: number, trace: TraceContext | null): void {
    this.#firstPieceSeconds.observe(firstMs / 1_000)
    const { slowMs } = this.#tracing
    if (slowMs === null || firstMs < slowMs) return
    log.warning('{model} took {duration_ms} ms to begin its answer', {
      model: this.name,
      duration_ms: Math.round(firstMs),
      ...(trace && { trace_id: trace.traceId }),
    })
  }

  /** As OpenTelemetry's semantic conventions for generative models name it. */
  #attributes(firstMs: number | null, usage: Usage | null): Record<string, string | number> {
    const { provider, model } = this.#labels
    return {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      ...(firstMs !== null && { 'stockroom.first_piece_ms': Math.round(firstMs) }),
      ...(usage !== null && {
        'gen_ai.usage.input_tokens': usage.inputTokens,
        'gen_ai.usage.output_tokens': usage.outputTokens,
      }),
    }
  }

  /** As in CHAT_MODEL: `openai:gpt-5-mini`, or `demo`. */
  get #labels(): { readonly provider: string; readonly model: string } {
    const [provider = '', ...rest] = this.name.split(':')
    return { provider, model: rest.join(':') || provider }
  }
}
