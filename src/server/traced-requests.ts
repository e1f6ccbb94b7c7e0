import { getLogger } from '@logtape/logtape'
import type { Tracing } from '../tracing/open.ts'
import { Timeline } from '../tracing/timeline.ts'
import { readTraceContext } from '../tracing/trace-context.ts'
import type { Span, TimedPart, Tracer } from '../tracing/tracer.ts'
import { isHealthRoute } from './rate-limit.ts'
import type { Exchange, Observer, RunningRequest } from './requests.ts'

const log = getLogger(['stockroom', 'request'])

/** Exports a span for each request, and logs where the time of slow ones went. Health checks are left out. */
export function tracedRequests({ slowMs, tracer }: Tracing): readonly Observer[] {
  if (slowMs === null && tracer === null) return []
  const begin = (scope: RunningRequest) => {
    if (isHealthRoute(scope.matched.route)) return
    const span = tracer && beginSpan(tracer, scope)
    if (span !== null || slowMs !== null) scope.timeline = new Timeline(span)
  }
  const end = (exchange: Exchange) => {
    const { timeline } = exchange.scope
    if (timeline === null) return
    timeline.span?.end({ ...described(exchange), parts: timeline.parts })
    if (slowMs !== null && exchange.durationMs >= slowMs) logSlow(exchange, timeline.parts)
  }
  return [{ begin, end }]
}

function beginSpan(tracer: Tracer, { request, matched, arrivedAt }: RunningRequest): Span | null {
  const name = () => {
    const route = template(matched.route)
    return route === null ? request.method : `${request.method} ${route}`
  }
  return tracer.begin({ name, kind: 'server', parent: readTraceContext(request.headers), start: arrivedAt })
}

/** The route as the interface description spells it; `null` if there is none. */
function template(route: string): string | null {
  return /^\/(?!\/)/.test(route) ? route.replaceAll(/:(\w+)/g, '{$1}') : null
}

/** As OpenTelemetry's semantic conventions for HTTP name it. */
function described({ request, scope, target, response: { status } }: Exchange) {
  const route = template(scope.matched.route)
  return {
    attributes: {
      'http.request.method': request.method,
      'http.response.status_code': status,
      'url.scheme': 'http',
      'url.path': target.loggedPath(request),
      'stockroom.request_id': scope.requestId,
      ...(route !== null && { 'http.route': route }),
    },
    error: status >= 500 ? String(status) : null,
  }
}

function logSlow({ request, scope, target, response, durationMs }: Exchange, parts: readonly TimedPart[]): void {
  const spent = new Map<string, number>()
  for (const { name, start, end } of parts) spent.set(name, (spent.get(name) ?? 0) + end - start)
  const known = [...spent.values()].reduce((sum, milliseconds) => sum + milliseconds, 0)
  spent.set('the rest', Math.max(0, durationMs - known))
  const rounded = [...spent].map(([name, milliseconds]) => [name, Math.round(milliseconds * 10) / 10] as const)
  log.warning('{method} {path} took {duration_ms} ms: {where}', {
    request_id: scope.requestId,
    ...(scope.trace !== null && { trace_id: scope.trace.traceId }),
    method: request.method,
    path: target.loggedPath(request),
    status: response.status,
    duration_ms: Math.round(durationMs * 10) / 10,
    where: rounded.map(([name, milliseconds]) => `${name} ${milliseconds}`).join(', '),
    spent_ms: Object.fromEntries(rounded),
  })
}
