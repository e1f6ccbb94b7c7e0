import { getLogger } from '@logtape/logtape'
import {
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { systemClock, within } from '../clock.ts'
import { atMostEvery } from '../limits/at-most-every.ts'
import { version } from '../program/version.ts'
import type { Sampling } from './settings.ts'
import type { TraceContext } from './trace-context.ts'
import type { SpanEnd, Tracer } from './tracer.ts'

const log = getLogger(['stockroom', 'tracing'])

/** Spans that wait for the exporter; further ones are dropped. */
const WAITING_MAX = 4_096

/** Waiting spans are exported after this time, or as soon as there is a batch of them. */
const EXPORT_DELAY_MS = 5_000

/** Time limit for exporting a batch. */
const EXPORT_TIMEOUT_MS = 30_000

/** Time limit for sending the waiting spans when the program stops. */
const FLUSH_MS = 750

/** After that, the time for what else there is to do at the end, such as writing the log. */
const END_MS = 100

/** The log mentions lost spans at most this often. */
const LOG_INTERVAL_MS = 60_000

const LOST = 'spans did not reach the collector'

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

/** Exports spans to the collector that OpenTelemetry's variables name. */
export function openTracer(sampling: Sampling): Tracer & AsyncDisposable {
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    resource: resourceFromAttributes({ 'service.name': 'stockroom', 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter(),
        maxQueueSize: WAITING_MAX,
        scheduledDelayMillis: EXPORT_DELAY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  })
  logLosses()
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
    [Symbol.asyncDispose]: () => flush(provider),
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

/**
 * Logs that spans are lost, whenever the library reports a problem, but rarely. Of the library's text, which may contain what the
 * collector has answered, it takes the code alone: the system's, such as ECONNREFUSED, or a status of HTTP.
 */
function logLosses(): void {
  const mayLog = atMostEvery(LOG_INTERVAL_MS)
  const lose = (text: string) => {
    if (!mayLog()) return
    // The text is JSON, so there is no such quote within an answer.
    const [, reason = null] = /"code":"(\w{3,40})"/.exec(text) ?? []
    if (reason === null) log.warning(LOST)
    else log.warning(`${LOST}: {reason}`, { reason: /^\d/.test(reason) ? `it answered ${reason}` : reason })
  }
  const ignore = () => {}
  diag.setLogger({ error: lose, warn: lose, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
}

/**
 * Resolves when the waiting spans are sent, or when the time is up. Then it ends the process soon, because the library cannot be
 * stopped: it would retry for ten seconds.
 */
async function flush(provider: TracerProvider): Promise<void> {
  const sending = provider.shutdown().then(() => true)
  const areSent = await within(systemClock, FLUSH_MS, sending).catch(() => false)
  if (areSent) return
  log.warning(LOST)
  setTimeout(() => process.exit(), END_MS).unref()
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
