import { expect, setDefaultTimeout, test } from 'bun:test'
import { startChatServer } from '../../test/harness/chat/chat-server.ts'
import { postgres, sqlite } from '../../test/harness/engines.ts'
import { type Collector, startCollector } from '../../test/harness/peers/collector.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, startServer } from '../../test/harness/service.ts'
import { startShopOn } from '../../test/harness/shop.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const SAMPLED = { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'congo=t61rcWkgMzE' }
const NOT_SAMPLED = { traceparent: `00-${TRACE}-${CALLER}-00` }
const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** As OpenTelemetry numbers them. */
const [INTERNAL, SERVER, CLIENT] = [1, 2, 3]
const FAILED = 2

/** Less than the time after which a service that is to stop ends in any case, and more than a stop takes. */
const STOP_MAX_MS = 3_000

test('a request is exported as a span of its route, in the trace of its caller, with where its time went', async () => {
  await using collector = startCollector()
  await using shop = await startShopOn(sqlite, {
    environment: { ...collector.environment, OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=shop' },
  })
  const created = await shop.api.send('/users/', {
    method: 'POST',
    body: JSON.stringify(sample.user),
    headers: { ...JSON_HEADERS, ...SAMPLED, 'X-Request-Id': 'first' },
  })
  expect(created.status).toBe(200)
  await shop.service.stop()
  const span = await collector.span('POST /users/')
  expect(span).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, traceState: 'congo=t61rcWkgMzE', kind: SERVER })
  expect(span.attributes).toEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'http.route': '/users/',
    'stockroom.request_id': 'first',
    'url.path': '/users/',
    'url.scheme': 'http',
  })
  const parts = collector.spans().filter(({ parentSpanId }) => parentSpanId === span.spanId)
  expect(parts.map(({ name }) => name)).toEqual([
    'reading the body',
    'validation',
    'waiting to hash the password',
    'hashing the password',
    'waiting for the database',
    'transaction',
  ])
  for (const { kind, traceId, startTimeUnixNano, endTimeUnixNano } of parts) {
    expect([kind, traceId]).toEqual([INTERNAL, TRACE])
    expect(startTimeUnixNano).toBeGreaterThanOrEqual(span.startTimeUnixNano)
    expect(endTimeUnixNano).toBeGreaterThanOrEqual(startTimeUnixNano)
    expect(endTimeUnixNano).toBeLessThanOrEqual(span.endTimeUnixNano)
  }
  expect(collector.resources()[0]).toMatchObject({ 'service.name': 'stockroom' })
  expect(collector.requests()[0]?.path).toBe('/v1/traces')
  expect(collector.requests()[0]?.headers.get('x-tenant')).toBe('shop')
})

test('a request without a trace begins one, errors of the client are no failures, and health checks are left out', async () => {
  await using collector = startCollector()
  await using shop = await startShopOn(sqlite, {
    environment: { ...collector.environment, OTEL_SERVICE_NAME: 'garden' },
  })
  await shop.api.get('/healthz')
  await shop.api.get('/readyz')
  await shop.api.get('/products/7')
  await shop.api.get('/nowhere', { traceparent: 'nonsense' })
  await shop.service.stop()
  expect(collector.spans().map(({ name }) => name)).toEqual(['GET /products/{product_id}', 'GET'])
  const [product, nowhere] = collector.spans()
  expect(product?.parentSpanId).toBeUndefined()
  expect(product?.attributes).toMatchObject({ 'http.response.status_code': 404, 'url.path': '/products/7' })
  expect(product?.status.code).not.toBe(FAILED)
  expect(nowhere?.attributes['http.route']).toBeUndefined()
  expect(nowhere?.traceId).not.toBe(product?.traceId)
  expect(collector.resources()[0]).toMatchObject({ 'service.name': 'garden' })
})

test('the sampler decides which traces are exported', async () => {
  expect(await exportedWith({}, [SAMPLED, NOT_SAMPLED, {}])).toEqual([true, false, true])
  expect(await exportedWith({ OTEL_TRACES_SAMPLER: 'always_on' }, [NOT_SAMPLED, {}])).toEqual([true, true])
  expect(await exportedWith({ OTEL_TRACES_SAMPLER: 'always_off' }, [SAMPLED, {}])).toEqual([false, false])
  expect(await exportedWith({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, [SAMPLED, {}])).toEqual([true, false])
  const none = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }
  expect(await exportedWith(none, [SAMPLED, {}])).toEqual([true, false])
  expect(await exportedWith({ OTEL_SDK_DISABLED: 'True' }, [SAMPLED])).toEqual([false])
  expect(await exportedWith({ OTEL_TRACES_EXPORTER: 'none' }, [SAMPLED])).toEqual([false])
})

test('a collector that is down, refuses or never answers disturbs no request, and the log says that spans were lost', async () => {
  const never = Promise.withResolvers<Response>()
  await using refusing = startCollector(() => new Response('{"code":"secret"}', { status: 400 }))
  await using silent = startCollector(() => never.promise)
  const down = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
  for (const environment of [refusing.environment, silent.environment, down]) {
    await using shop = await startShopOn(sqlite, { environment })
    // More than a batch.
    const answers = await Promise.all(Array.from({ length: 600 }, () => shop.api.get('/products/')))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    const stopping = performance.now()
    expect(await shop.service.stop()).toBe(0)
    expect(performance.now() - stopping).toBeLessThan(STOP_MAX_MS)
    const errors = shop.service.errors()
    expect(errors).toContain('spans did not reach the collector')
    expect(errors.includes('spans did not reach the collector: it answered 400')).toBe(
      environment === refusing.environment,
    )
    expect(errors).not.toContain('secret')
  }
  never.resolve(new Response())
})

test('an answer is a span of the request that began it, and the model gets that span as its parent', async () => {
  await using collector = startCollector()
  await using server = await startChatServer(sqlite, { environment: collector.environment })
  await server.chat.post('a-turn-with-a-long-id', 'Hello')
  const stream = fetch(`${server.service.address}/chatstream/a-turn-with-a-long-id`, { headers: SAMPLED })
  const call = await server.model.nextCall()
  await call.answer('Hello')
  await (await stream).text()
  await server.service.stop()
  const asked = await collector.span('chat compatible:small-model')
  const request = await collector.span('GET /chatstream/{req_id}')
  expect(request).toMatchObject({ traceId: TRACE, parentSpanId: CALLER })
  expect(String(request.attributes['url.path'])).not.toContain('a-turn-with-a-long-id')
  expect(asked).toMatchObject({ traceId: TRACE, parentSpanId: request.spanId, kind: CLIENT })
  expect(asked.attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'compatible' })
  expect(call.headers).toMatchObject({ traceparent: `00-${TRACE}-${asked.spanId}-01`, tracestate: 'congo=t61rcWkgMzE' })
})

test('the breed page exports spans, too', async () => {
  await using collector = startCollector()
  await using service = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'], {
    environment: collector.environment,
  })
  await fetch(service.address)
  await service.stop()
  expect((await collector.span('GET /')).kind).toBe(SERVER)
})

test('on PostgreSQL, statements of a sampled trace are parts of the span of the request', async () => {
  await using collector = startCollector()
  await using shop = await startShopOn(postgres, { environment: collector.environment })
  expect((await shop.api.get('/products/', SAMPLED)).status).toBe(200)
  await shop.service.stop()
  const span = await collector.span('GET /products/')
  const parts = collector.spans().filter(({ parentSpanId }) => parentSpanId === span.spanId)
  expect(parts.map(({ name }) => name)).toContain('statement')
})

test('the access log names the trace of a request', async () => {
  await using shop = await startShopOn(sqlite)
  await shop.api.get('/products/', SAMPLED)
  await shop.api.get('/users/')
  await shop.service.stop()
  const lines = shop.service.errors().split('\n')
  expect(lines.find(line => line.includes('/products/'))).toContain(`"trace_id":"${TRACE}"`)
  expect(lines.find(line => line.includes('/users/'))).not.toContain('trace_id')
})

test('a slow request is logged with where its time went', async () => {
  await using shop = await startShopOn(sqlite, { environment: { SLOW_MS: '10', ACCESS_LOG: 'off' } })
  const headers = { ...JSON_HEADERS, ...SAMPLED }
  await shop.api.send('/users/', { method: 'POST', body: JSON.stringify(sample.user), headers })
  await shop.service.stop()
  const [line] = shop.service
    .errors()
    .split('\n')
    .filter(text => text.includes('POST /users/ took'))
  const { message, ...logged } = JSON.parse(line ?? '{}')
  expect(message).toMatch(/^POST \/users\/ took [\d.]+ ms: reading the body [\d.]+, .*the rest [\d.]+$/)
  expect(logged).toMatchObject({ level: 'warning', method: 'POST', path: '/users/', status: 200, trace_id: TRACE })
  expect(Object.keys(logged.spent_ms)).toEqual([
    'reading the body',
    'validation',
    'waiting to hash the password',
    'hashing the password',
    'waiting for the database',
    'transaction',
    'the rest',
  ])
  expect(logged.spent_ms['hashing the password']).toBeGreaterThan(1)
  const total = Object.values<number>(logged.spent_ms).reduce((sum, part) => sum + part, 0)
  expect(Math.abs(total - logged.duration_ms)).toBeLessThan(1)
})

test('on SQLite, a slow search tells for what it has waited, and how long its statement took', async () => {
  await using shop = await startShopOn(sqlite, { environment: { SLOW_MS: '1', ACCESS_LOG: 'off' } })
  await shop.api.create('/products/', sample.product)
  await Promise.all(Array.from({ length: 20 }, () => shop.api.get('/facets/products')))
  await shop.service.stop()
  const lines = shop.service.errors().split('\n')
  const slow = lines.filter(text => text.includes('/facets/products took')).map(text => JSON.parse(text).spent_ms)
  const counted = slow.find(spent => 'statement' in spent)
  const waited = ['waiting for other facets', 'waiting for the search index', 'waiting for the database']
  expect(Object.keys(counted)).toEqual(expect.arrayContaining(waited))
  expect(slow.some(spent => 'waiting for an equal request' in spent)).toBe(true)
})

test('on PostgreSQL, the time of a slow search is that of a statement', async () => {
  await using shop = await startShopOn(postgres, { environment: { SLOW_MS: '200', ACCESS_LOG: 'off' } })
  await using sql = connected(shop.url)
  // The first one connects, and prepares its statements. On a busy machine, it may be slow, too.
  await shop.api.get('/facets/products')
  const searched = Promise.withResolvers<void>()
  await sql.begin(async transaction => {
    await transaction`LOCK TABLE product_facts`
    shop.api.get('/facets/products?q=spade').then(() => searched.resolve(), searched.reject)
    await until(async () => {
      const [waiting] = await transaction<{ count: number }[]>`
        SELECT count(*)::int AS count FROM pg_locks WHERE relation = 'product_facts'::regclass AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
      return waiting?.count === 1
    })
    await Bun.sleep(300)
  })
  await searched.promise
  await shop.service.stop()
  const line = shop.service
    .errors()
    .split('\n')
    .findLast(text => text.includes('/facets/products took'))
  expect(JSON.parse(line ?? '{}').spent_ms.statement).toBeGreaterThan(200)
})

test('an answer whose model is slow to begin is logged', async () => {
  await using server = await startChatServer(sqlite, { environment: { SLOW_MS: '100' } })
  await server.chat.post('slow', 'Hello')
  const listener = server.chat.listen('slow')
  const call = await server.model.nextCall()
  await Bun.sleep(150)
  await call.answer('Hello')
  await listener.end()
  await server.service.stop()
  expect(server.service.errors()).toMatch(/compatible:small-model took \d+ ms to begin its answer/)
})

test('a wrong setting of OpenTelemetry stops the program', async () => {
  for (const [variable, value] of [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['SLOW_MS', '-1'],
  ] as const) {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', [variable]: value }
    const refused = await run(['serve', '--port', '0'], { environment })
    expectRefusal(refused, { status: 2, reason: new RegExp(`\\b${variable}\\b`) }, variable)
  }
})

/** Whether requests with these headers are exported, each. */
async function exportedWith(settings: Record<string, string>, requests: readonly Record<string, string>[]) {
  await using collector: Collector = startCollector()
  await using shop = await startShopOn(sqlite, { environment: { ...collector.environment, ...settings } })
  for (const [index, headers] of requests.entries()) await shop.api.get(`/products/${index}`, headers)
  await shop.service.stop()
  const paths = collector.spans().map(({ attributes }) => attributes['url.path'])
  return requests.map((_, index) => paths.includes(`/products/${index}`))
}
