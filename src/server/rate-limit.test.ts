import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { bearer, startKeyedShop } from '../../test/harness/catalog/keyed-shop.ts'
import { client } from '../../test/harness/client.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { type ManualClock, manualClock } from '../../test/harness/manual-clock.ts'
import { sample } from '../../test/harness/samples.ts'
import { startServer, startService } from '../../test/harness/service.ts'
import { startShop } from '../../test/harness/shop.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { Rate } from '../limits/rate.ts'
import { type RateLimit, RateLimiter } from './rate-limit.ts'

setDefaultTimeout(120_000)

const SECOND_MS = 1_000

test('in each window of a client exactly the first requests pass, whatever others send', () => {
  const steps = fc.array(fc.record({ client: fc.nat(2), waitMs: fc.nat(900) }), { maxLength: 200 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 3 }), steps, (requests, seconds, sent) => {
      const { limiter, clock } = limited({ requests, seconds })
      const passed = new Map<number, number[]>()
      const arrived = new Map<number, number[]>()
      const windows = new Map<number, { start: number; used: number }>()
      for (const { client, waitMs } of sent) {
        clock.advance(waitMs)
        const now = clock.now()
        const window = windows.get(client)
        const current =
          window !== undefined && now < window.start + seconds * SECOND_MS ? window : { start: now, used: 0 }
        windows.set(client, current)
        current.used += 1
        const isPassed = passes(limiter, clock, `192.0.2.${client}`)
        expect(isPassed).toBe(current.used <= requests)
        const all = arrived.get(client) ?? []
        arrived.set(client, [...all, now])
        if (isPassed) passed.set(client, [...(passed.get(client) ?? []), now])
        // A client that never sends more than the limit in such a time is not refused.
        if (mostIn(arrived.get(client) ?? [], seconds * SECOND_MS) <= requests) expect(isPassed).toBe(true)
      }
      for (const times of passed.values()) expect(mostIn(times, seconds * SECOND_MS)).toBeLessThanOrEqual(2 * requests)
    }),
  )
})

test('with more clients than it counts one by one, it forgets no count, and nobody gets more than the limit', () => {
  const { limiter, clock } = limited({ requests: 3, seconds: 60 }, 100)
  const known = Array.from({ length: 100 }, (_, index) => `198.51.100.${index}`)
  for (const address of known)
    for (let sent = 0; sent < 3; sent += 1) expect(passes(limiter, clock, address)).toBe(true)
  const crowd = Array.from({ length: 20_000 }, (_, index) => `2001:db8:${(index >> 8).toString(16)}:${index & 255}::1`)
  const passed = crowd.map(address => [1, 2, 3, 4].filter(() => passes(limiter, clock, address)).length)
  expect(Math.max(...passed)).toBe(3)
  // 1,024 shared allowances of three requests each.
  expect(passed.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(1_024 * 3)
  expect(passed.reduce((sum, count) => sum + count)).toBeGreaterThan(1_000 * 3)
  expect(known.filter(address => passes(limiter, clock, address))).toEqual([])
  clock.advance(60 * SECOND_MS)
  expect(known.filter(address => passes(limiter, clock, address))).toEqual(known)
})

test('who shares an allowance gets none of its own before the shared one has ended', () => {
  const { limiter, clock } = limited({ requests: 2, seconds: 10 }, 1)
  expect(passes(limiter, clock, '192.0.2.1')).toBe(true)
  clock.advance(9 * SECOND_MS)
  const pass = () => passes(limiter, clock, '192.0.2.2')
  expect([pass(), pass(), pass()]).toEqual([true, true, false])
  // There is room again.
  clock.advance(2 * SECOND_MS)
  expect(pass()).toBe(false)
  clock.advance(8 * SECOND_MS)
  expect(pass()).toBe(true)
})

test('a client that begins a new window does not keep the room of those that have gone from others', () => {
  let crowds = 0
  const rate = new Rate({ uses: 1, windowMs: 10, clientsMax: 4, crowded: () => (crowds += 1) })
  for (const client of 'abcd') rate.use(client, 0)
  for (const client of 'cefg') rate.use(client, 10)
  expect(crowds).toBe(0)
  rate.use('h', 10)
  expect(crowds).toBe(1)
})

test('responses tell how much is left once half is used, and a refusal tells when to come back', async () => {
  await using shop = await startShop({ environment: { RATE_LIMIT: '4/h' } })
  const answers = [await shop.api.get('/products/'), await shop.api.get('/nowhere'), await shop.api.get('/products/x')]
  expect(answers.map(({ status, headers }) => [status, headers.get('RateLimit-Policy')])).toEqual([
    [200, null],
    [404, '"default";q=4;w=3600'],
    [422, '"default";q=4;w=3600'],
  ])
  expect(answers.map(({ headers }) => headers.get('RateLimit')?.split(';t=')[0] ?? null)).toEqual([
    null,
    '"default";r=2',
    '"default";r=1',
  ])
  expect((await shop.api.get('/products')).status).toBe(307)
  const refused = await shop.api.get('/products/')
  expect(refused.status).toBe(429)
  expect(refused.body).toEqual({ detail: 'Too many requests' })
  expect(refused.headers.get('Content-Type')).toBe('application/json')
  expect(refused.headers.get('X-Request-Id')).toBeString()
  const seconds = Number(refused.headers.get('Retry-After'))
  expect(seconds).toBeGreaterThan(3_500)
  expect(seconds).toBeLessThanOrEqual(3_600)
  expect(refused.headers.get('RateLimit')).toBe(`"default";r=0;t=${seconds}`)
  await shop.service.stop()
  expect(shop.service.errors()).toContain('127.0.0.1 sends more than 4 requests in 3600 s')
})

test('a client is served again after the time that a refusal told', async () => {
  await using shop = await startShop({ environment: { RATE_LIMIT: '1/s' } })
  await shop.api.get('/products/')
  // More than one in a second; each refusal tells at most a second.
  const refused = await Promise.all([1, 2, 3].map(() => shop.api.get('/products/')))
  expect(refused.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(2)
  await Bun.sleep(Number(refused.find(({ status }) => status === 429)?.headers.get('Retry-After')) * SECOND_MS)
  expect((await shop.api.get('/products/')).status).toBe(200)
})

test('a refusal comes before the body is read, validated or hashed', async () => {
  await using shop = await startShop({ environment: { RATE_LIMIT: '1/h' } })
  await shop.api.get('/products/')
  expect((await shop.api.post('/users/', {})).status).toBe(429)
  expect((await shop.api.post('/users/', sample.user)).status).toBe(429)
  expect((await shop.api.post('/products/', { name: 'x'.repeat(1_100_000) })).status).toBe(429)
  // Its body never comes.
  const endless = new ReadableStream({ start: controller => controller.enqueue(new TextEncoder().encode('{')) })
  const unread = await shop.api.send('/users/', { method: 'POST', body: endless })
  expect(unread.status).toBe(429)
})

test('health checks are not limited', async () => {
  await using shop = await startShop({ environment: { RATE_LIMIT: '1/h' } })
  const statuses = await Promise.all(['/healthz', '/health', '/readyz', '/healthz'].map(path => shop.api.get(path)))
  expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect((await shop.api.get('/products/')).status).toBe(200)
  expect((await shop.api.get('/products/')).status).toBe(429)
  expect((await shop.api.get('/readyz')).status).toBe(200)
})

test('a page of another origin may read a refusal, and preflights are not limited', async () => {
  const origin = 'https://shop.example'
  await using shop = await startShop({ environment: { RATE_LIMIT: '1/h', CORS_ORIGINS: origin } })
  const preflight = () =>
    shop.api.send('/products/1', {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'PUT' },
    })
  expect((await preflight()).status).toBe(204)
  expect((await shop.api.get('/products/', { Origin: origin })).status).toBe(200)
  const refused = await shop.api.get('/products/', { Origin: origin })
  expect(refused.status).toBe(429)
  expect(refused.headers.get('Access-Control-Allow-Origin')).toBe(origin)
  expect(refused.headers.get('Access-Control-Expose-Headers')).toContain('RateLimit-Policy')
  expect((await preflight()).status).toBe(204)
})

test('behind a proxy each address has a limit of its own, and a network of IPv6 is one client', async () => {
  await using shop = await startShop({ environment: { RATE_LIMIT: '1/h', TRUSTED_PROXIES: '1' } })
  const statusFrom = async (address: string) =>
    (await shop.api.get('/products/', { 'X-Forwarded-For': address })).status
  expect(await statusFrom('203.0.113.1')).toBe(200)
  expect(await statusFrom('203.0.113.1')).toBe(429)
  expect(await statusFrom('6.6.6.6, 203.0.113.1')).toBe(429)
  expect(await statusFrom('203.0.113.2')).toBe(200)
  expect(await statusFrom('2001:db8::1')).toBe(200)
  expect(await statusFrom('2001:db8::2')).toBe(429)
  expect(await statusFrom('2001:db8:0:1::1')).toBe(200)
})

test('each access key has a limit of its own, wherever it is used, and wrong keys count against the address', async () => {
  await using shop = await startKeyedShop(sqlite, ['--rate-limit', '2/h', '--trusted-proxies', '1'])
  const statusOf = async (key: string | null, address: string) => {
    const headers = { ...(key !== null && bearer(key)), 'X-Forwarded-For': address }
    return (await fetch(`${shop.service.address}/products/`, { headers })).status
  }
  const { read, write } = shop.keys
  expect(await statusOf(read, '203.0.113.1')).toBe(200)
  expect(await statusOf(read, '203.0.113.2')).toBe(200)
  expect(await statusOf(read, '203.0.113.3')).toBe(429)
  expect(await statusOf(write, '203.0.113.1')).toBe(200)
  expect(await statusOf(`${write.slice(0, -4)}AAAA`, '203.0.113.1')).toBe(401)
  expect(await statusOf(null, '203.0.113.1')).toBe(401)
  expect(await statusOf(`${write.slice(0, -4)}BBBB`, '203.0.113.1')).toBe(429)
  expect(await statusOf(write, '203.0.113.1')).toBe(200)
})

test('the chat is limited: its page, its prompts and its streams', async () => {
  using folder = temporaryFolder()
  await using service = await startServer(['chat', '--rate-limit', '2/h'], {
    environment: { HOST: '127.0.0.1', PORT: '0', DATABASE_URL: `sqlite:${folder.path}/chat.db` },
  })
  const api = client(() => service.address)
  expect((await api.get('/')).status).toBe(200)
  expect((await api.get('/static/chat.css')).status).toBe(200)
  const prompt = await api.send('/chat/abc', { method: 'POST', body: new URLSearchParams({ user_prompt: 'Hello' }) })
  expect([prompt.status, prompt.body]).toEqual([429, { detail: 'Too many requests' }])
  expect((await api.get('/chat/abc')).status).toBe(429)
  expect((await api.get('/chatstream/abc')).status).toBe(429)
  expect((await api.get('/readyz')).status).toBe(200)
})

test('the breed page is limited, but not its own requests for its list', async () => {
  await using service = await startServer(['breeds', '--rate-limit', '1/h'], {
    environment: { HOST: '127.0.0.1', PORT: '0', TRUSTED_PROXIES: '1' },
  })
  const listen = async (address: string) => {
    const response = await fetch(`${service.address}/dogstream`, { headers: { 'X-Forwarded-For': address } })
    const reader = response.body?.getReader()
    const first = await reader?.read()
    await reader?.cancel()
    return [response.status, new TextDecoder().decode(first?.value)] as const
  }
  for (const address of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
    const [status, text] = await listen(address)
    expect(status).toBe(200)
    expect(text).toContain('More breeds are coming.')
  }
  expect((await listen('203.0.113.1'))[0]).toBe(429)
})

test('each worker counts by itself, so a client gets its limit at least once and at most once per worker', async () => {
  using folder = temporaryFolder()
  const flags = ['--workers', '2', '--rate-limit', '10/h']
  await using service = await startService(`sqlite:${folder.path}/shop.db`, { flags })
  let passed = 0
  for (let sent = 0; sent < 60; sent += 1) {
    const { status } = await fetch(`${service.address}/products/`, { headers: { Connection: 'close' } })
    if (status === 200) passed += 1
    else expect(status).toBe(429)
  }
  expect(passed).toBeGreaterThanOrEqual(10)
  expect(passed).toBeLessThanOrEqual(20)
})

function limited(limit: RateLimit, clientsMax?: number): { limiter: RateLimiter; clock: ManualClock } {
  const clock = manualClock()
  return { limiter: new RateLimiter(limit, clock, clientsMax), clock }
}

function passes(limiter: RateLimiter, clock: ManualClock, clientAddress: string): boolean {
  return limiter.take({ key: null, clientAddress, arrivedAt: clock.now(), allowance: null }) === null
}

/** The most times within any period of this length. */
function mostIn(times: readonly number[], periodMs: number): number {
  return Math.max(0, ...times.map(start => times.filter(time => time >= start && time < start + periodMs).length))
}
