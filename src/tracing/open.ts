import type { TracingSettings } from './settings.ts'
import type { Tracer } from './tracer.ts'

/** The handling of traces and slow requests. */
export interface Tracing {
  readonly slowMs: number | null
  /** `null` if no spans are exported. */
  readonly tracer: Tracer | null
}

/** Loads the packages of OpenTelemetry only if they are needed. Disposing sends waiting spans, within a time limit. */
export async function openTracing({ slowMs, sampling }: TracingSettings): Promise<Tracing & AsyncDisposable> {
  const tracer = sampling === null ? null : (await import('./open-telemetry.ts')).openTracer(sampling)
  return { slowMs, tracer, [Symbol.asyncDispose]: async () => tracer?.[Symbol.asyncDispose]() }
}
