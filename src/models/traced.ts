import { getLogger } from '@logtape/logtape'
import type { Tracing } from '../tracing/open.ts'
import { AnswerError, type ChatModel, type Question, type Usage } from './chat-model.ts'

const log = getLogger(['stockroom', 'model'])

/** The model, with a span for each answer, and a line in the log for each that is slow to begin. */
export function tracedModel(model: ChatModel, { slowMs, tracer }: Omit<Tracing, keyof AsyncDisposable>): ChatModel {
  if (slowMs === null && tracer === null) return model
  return {
    name: model.name,
    answer: async function* (question: Question) {
      const started = performance.now()
      const span =
        tracer?.begin({
          name: () => `chat ${model.name}`,
          kind: 'client',
          parent: question.trace ?? null,
          start: started,
        }) ?? null
      let usage: Usage | null = null
      const onUsage = (told: Usage) => {
        usage = told
        question.onUsage?.(told)
      }
      let firstMs: number | null = null
      let error: string | null = null
      try {
        for await (const piece of model.answer({
          ...question,
          onUsage,
          trace: span?.context ?? question.trace ?? null,
        })) {
          if (firstMs === null) {
            firstMs = performance.now() - started
            if (slowMs !== null && firstMs >= slowMs) logSlow(model.name, firstMs, question)
          }
          yield piece
        }
      } catch (thrown) {
        error = thrown instanceof AnswerError ? thrown.failure.replaceAll(' ', '_') : 'failed'
        throw thrown
      } finally {
        span?.end({ attributes: described(model.name, firstMs, usage), error })
      }
    },
  }
}

/** As OpenTelemetry's semantic conventions for generative models name it. */
function described(name: string, firstMs: number | null, usage: Usage | null): Record<string, string | number> {
  const [provider = '', ...rest] = name.split(':')
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': rest.join(':') || provider,
    ...(firstMs !== null && { 'stockroom.first_piece_ms': Math.round(firstMs) }),
    ...(usage !== null && {
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    }),
  }
}

function logSlow(model: string, firstMs: number, { trace }: Question): void {
  log.warning('{model} took {duration_ms} ms to begin its answer', {
    model,
    duration_ms: Math.round(firstMs),
    ...(trace && { trace_id: trace.traceId }),
  })
}
