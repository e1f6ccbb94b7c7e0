import { z } from 'zod'
import { until } from '../until.ts'

const Value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
])

const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .transform(attributes => Object.fromEntries(attributes.map(({ key, value }) => [key, value])))

const ExportedSpan = z.object({
  traceId: z.string().length(32),
  spanId: z.string().length(16),
  parentSpanId: z.string().length(16).optional(),
  traceState: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.coerce.bigint(),
  endTimeUnixNano: z.coerce.bigint(),
  attributes: Attributes,
  status: z.object({ code: z.number() }),
})

/** The body of an export over HTTP, as OpenTelemetry's protocol writes it in JSON. */
const ExportRequest = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(z.object({ spans: z.array(ExportedSpan) })),
    }),
  ),
})

type ExportedSpan = z.infer<typeof ExportedSpan>

export interface Collector extends AsyncDisposable {
  /** The settings that export spans to it. */
  readonly environment: Record<string, string>
  readonly spans: () => readonly ExportedSpan[]
  readonly resources: () => readonly Record<string, string | number>[]
  readonly requests: () => readonly { readonly path: string; readonly headers: Headers }[]
  /** Waits for the first span with this name. */
  readonly span: (name: string) => Promise<ExportedSpan>
}

/** A collector of OpenTelemetry on a free loopback port. `answer` may refuse exports, or never resolve. */
export function startCollector(answer: () => Response | Promise<Response> = () => Response.json({})): Collector {
  const exports: z.infer<typeof ExportRequest>[] = []
  const requests: { path: string; headers: Headers }[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async request => {
      requests.push({ path: new URL(request.url).pathname, headers: request.headers })
      exports.push(ExportRequest.parse(await request.json()))
      return answer()
    },
  })
  const resourceSpans = () => exports.flatMap(request => request.resourceSpans)
  const spans = () => resourceSpans().flatMap(({ scopeSpans }) => scopeSpans.flatMap(scope => scope.spans))
  return {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.port}` },
    spans,
    resources: () => resourceSpans().map(({ resource }) => resource.attributes),
    requests: () => requests,
    span: async name => {
      await until(() => spans().some(span => span.name === name))
      const found = spans().find(span => span.name === name)
      if (!found) throw new Error(`there is no span ${name}`)
      return found
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
