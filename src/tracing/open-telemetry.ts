import { getLogger } from '@logtape/logtape'
import { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  SamplingDecision,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { version } from '../program/version.ts'
import type { Sampling } from './settings.ts'
import type { TraceContext } from './trace-context.ts'
import type { SpanEnd, Tracer } from './tracer.ts'

const log = getLogger(['stockroom', 'tracing'])

/** Spans that wait for the collector; further ones are dropped. */
const WAITING_MAX = 4_096

/** Time limit for sending the waiting spans when the program stops. */
const FLUSH_MS = 750

/** The log mentions spans that were lost at most this often. */
const LOG_INTERVAL_MS = 60_000

/** The library's code for success. */
const EXPORTED = 0

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

/** Exports spans to the collector that OpenTelemetry's variables name. */
export function openTracer(sampling: Sampling): Tracer & AsyncDisposable {
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    resource: resourceFromAttributes({ 'service.name': 'stockroom', 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [new BoundedExport(new OTLPTraceExporter())],
  })
  const isSampled = samplerOf(sampling)
  const tracer = provider.getTracer('stockroom', version)
  return {
    begin: ({ name, kind, parent, start }) => {
      if (!isSampled(parent)) return null
      const span = tracer.startSpan(name(), { kind: KINDS[kind], startTime: atEpoch(start) }, contextOf(parent))
      const { traceId, spanId } = span.spanContext()
      const context = { traceId, spanId, isSampled: true, state: parent?.state ?? null }
      const end = ({ attributes, error, parts = [] }: SpanEnd) => {
        for (const part of parts) {
          tracer
            .startSpan(part.name, { kind: SpanKind.INTERNAL, startTime: atEpoch(part.start) }, contextOf(context))
            .end(atEpoch(part.end))
        }
        span.setAttributes(attributes)
        if (error !== null) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
        span.end(atEpoch(performance.now()))
      }
      return { context, end }
    },
    [Symbol.asyncDispose]: () => provider.shutdown(),
  }
}

/** New traces are sampled at random. Those of callers are sampled by their id, so that all services agree. */
function samplerOf({ share, callersDecide }: Sampling): (parent: TraceContext | null) => boolean {
  const sampler = new TraceIdRatioBasedSampler(share)
  return parent => {
    if (parent === null) return Math.random() < share
    if (callersDecide) return parent.isSampled
    return sampler.shouldSample(ROOT_CONTEXT, parent.traceId).decision === SamplingDecision.RECORD_AND_SAMPLED
  }
}

/** Keeps a bounded number of spans for the exporter, and counts those that do not reach the collector. */
class BoundedExport implements SpanProcessor {
  readonly #processor: SpanProcessor
  #waiting = 0
  #lost = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(exporter: SpanExporter) {
    const counted: SpanExporter = {
      export: (spans, done) =>
        exporter.export(spans, result => {
          this.#waiting -= spans.length
          if (result.code !== EXPORTED) this.#lose(spans.length)
          done(result)
        }),
      shutdown: () => exporter.shutdown(),
    }
    this.#processor = new BatchSpanProcessor({ exporter: counted, maxQueueSize: WAITING_MAX })
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting === WAITING_MAX) {
      this.#lose(1)
    } else {
      this.#waiting += 1
      this.#processor.onEnd(span)
    }
  }

  forceFlush(): Promise<void> {
    return this.#processor.forceFlush()
  }

  /** Resolves when all spans are sent, or when the time is up. */
  async shutdown(): Promise<void> {
    const { promise: tooLate, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, FLUSH_MS)
    await Promise.race([this.#processor.shutdown().catch(() => {}), tooLate])
    clearTimeout(timer)
    this.#lost += this.#waiting
    this.#report()
  }

  #lose(spans: number): void {
    this.#lost += spans
    if (performance.now() - this.#loggedAt < LOG_INTERVAL_MS) return
    this.#loggedAt = performance.now()
    this.#report()
  }

  #report(): void {
    if (this.#lost > 0) log.warning('{lost} spans did not reach the collector', { lost: this.#lost })
    this.#lost = 0
  }
}

function contextOf(parent: TraceContext | null) {
  if (parent === null) return ROOT_CONTEXT
  const { traceId, spanId, isSampled, state } = parent
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(state !== null && { traceState: createTraceState(state) }),
  })
}

/** A time of `performance.now()` as milliseconds since 1970. */
function atEpoch(time: number): number {
  return performance.timeOrigin + time
}
