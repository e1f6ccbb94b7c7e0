import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { sqlite } from '../../test/harness/engines.ts'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { scrape, WITH_METRICS } from '../../test/harness/metrics.ts'
import { sample } from '../../test/harness/samples.ts'
import { type Service, startService } from '../../test/harness/service.ts'
import { countTurns } from '../../test/harness/turns.ts'
import { until } from '../../test/harness/until.ts'
import { errorResponse } from './errors.ts'
import { RequestBodies, type RequestBody } from './request-bodies.ts'

setDefaultTimeout(120_000)

/** Each as large as a request may be, and more of them than may wait: about 72 MiB, where 64 are allowed. */
const COMMENT_CHARACTERS = 1_000_000
const LARGE_BODIES = 75

test('large bodies that wait for a commit are bounded in bytes, and small ones are not turned away because of them', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  const create = (description: string) =>
    fetch(`${service.address}/products/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...sample.product, description }),
    })
  using other = new Database(database.url.slice('sqlite:'.length))
  other.run('BEGIN IMMEDIATE')
  const large = Array.from({ length: LARGE_BODIES }, () => create('x'.repeat(COMMENT_CHARACTERS)))
  const refused = await Promise.race(large)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('Retry-After')).toBe('1')
  expect(await refused.json()).toEqual({ detail: 'Too many large requests are under way' })
  const small = create('small')
  other.run('ROLLBACK')
  expect((await small).status).toBe(200)
  const statuses = await Promise.all(large.map(async answer => (await answer).status))
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
})

describe('the memory for bodies', () => {
  const stack = new AsyncDisposableStack()
  let service: Service
  beforeAll(async () => {
    const database = stack.use(await sqlite.freshDatabase())
    const flags = [...WITH_METRICS, '--trusted-proxies', '1']
    service = stack.use(await startService(database.url, { flags }))
  })
  afterAll(() => stack.disposeAsync())

  const held = async (budget: string) => (await scrape(service)).value('stockroom_memory_budget_used_bytes', { budget })

  test('a large body counts from its first byte, and further ones are turned away before they are read', async () => {
    using open = new DisposableStack()
    for (let count = 0; count < 68; count += 1) open.use(begin(service, { length: 1_000_000 }))
    await until(async () => (await held('large_bodies')) === 68_000_000)
    expect(await begun(service, open, { length: 1_000_000 })).toMatch(
      /^HTTP\/1.1 503 [\s\S]*Too many large requests are under way/,
    )
    const product = JSON.stringify(sample.product)
    const post = { method: 'POST', body: product, headers: { 'Content-Type': 'application/json' } }
    expect((await fetch(`${service.address}/products/`, post)).status).toBe(200)
    open.dispose()
    await until(async () => (await held('large_bodies')) === 0)
  })

  test('a request with two lengths is 400 and does not count, even if they are equal', async () => {
    using open = new DisposableStack()
    const answer = await begun(service, open, { length: '2\r\nContent-Length: 2', sent: '{}' })
    expect(answer).toMatch(/^HTTP\/1.1 400 [\s\S]*There are several Content-Length headers/)
    expect(await held('large_bodies')).toBe(0)
  })

  test('a body without a declared length counts as it arrives', async () => {
    using open = new DisposableStack()
    const chunk = `${(200_000).toString(16)}\r\n${' '.repeat(200_000)}\r\n`
    open.use(begin(service, { length: null, sent: chunk }))
    await until(async () => (await held('large_bodies')) === 200_000)
    open.dispose()
    await until(async () => (await held('large_bodies')) === 0)
  })

  test('one client may hold half of the memory for bodies of many lines, and others are still served', async () => {
    using open = new DisposableStack()
    // A part has arrived, but all of the declared length counts.
    const large = { type: 'application/x-ndjson', length: 8_000_000, sent: ' '.repeat(100_000) }
    for (const client of ['192.0.2.1', '192.0.2.1']) open.use(begin(service, { ...large, client }))
    await until(async () => (await held('bulk_bodies')) === 16_000_000)
    expect(await begun(service, open, { ...large, client: '192.0.2.1' })).toMatch(
      /^HTTP\/1.1 429 [\s\S]*Too many large requests of this client/,
    )
    const lines = (client: string) =>
      fetch(`${service.address}/products/`, {
        method: 'POST',
        body: JSON.stringify(sample.product),
        headers: { 'Content-Type': 'application/x-ndjson', 'X-Forwarded-For': client },
      })
    expect(await (await lines('192.0.2.2')).json()).toMatchObject({ created: 1 })
    for (const client of ['192.0.2.2', '192.0.2.2', '192.0.2.3']) open.use(begin(service, { ...large, client }))
    await until(async () => (await held('bulk_bodies')) === 40_000_000)
    expect((await lines('192.0.2.4')).status).toBe(503)
    open.dispose()
    await until(async () => (await held('bulk_bodies')) === 0)
  })
})

test('a body of many lines that arrives too slowly is 408, and the time until it is read on does not count', async () => {
  const clock = manualClock()
  const bodies = new RequestBodies({ bodyMaxBytes: 8_000_000, maxBytes: 8_000_000, clientMaxBytes: 8_000_000, clock })
  const read: number[] = []
  const total = () => read.reduce((sum, length) => sum + length, 0)
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    error: error => errorResponse(error, 'x'),
    fetch: request =>
      bodies.answering(request, async body => {
        for await (const chunk of body.chunks()) {
          read.push(chunk.length)
          // As if passwords were hashed meanwhile.
          clock.advance(60_000)
        }
        return new Response('read')
      }),
  })
  const service = { address: server.url.href }
  using open = new DisposableStack()
  const { socket, answer } = open.use(begin(service, { length: 100_003, sent: 'x'.repeat(100_000) }))
  for (const _ of 'abc') {
    await until(() => total() >= 100_000)
    await clock.waitedFor(10_000)
    socket.write('x')
    await until(() => read.at(-1) === 1)
  }
  expect(await answer).toMatch(/^HTTP\/1.1 200 [\s\S]*read$/)
  const before = total()
  const slow = open.use(begin(service, { length: 100_000 }))
  await clock.waitedFor(10_000)
  clock.advance(9_000)
  slow.socket.write('x'.repeat(50_000))
  await until(() => total() === before + 50_001)
  // The 10 s go on: too little has arrived for a new limit to begin.
  await clock.waitedFor(1_000)
  clock.advance(1_000)
  expect(await slow.answer).toMatch(/^HTTP\/1.1 408 [\s\S]*The body arrives too slowly/)
  expect(bodies.figures.heldBytes).toBe(0)
  await server.stop(true)
})

test('a body is read in pieces of 64 KiB, one in each turn of the event loop, however it arrives', async () => {
  const bodies = new RequestBodies({ bodyMaxBytes: 2_000_000, maxBytes: 2_000_000 })
  const whole = Buffer.from(Array.from({ length: 1_000_000 }, (_, place) => place % 251))
  const request = new Request('http://shop.example/', { method: 'POST', body: whole })
  const pieces: Uint8Array[] = []
  const turns: number[] = []
  let turn = 0
  await bodies.answering(request, async body => {
    for await (const piece of body.chunks()) {
      pieces.push(piece)
      turns.push(turn)
      setImmediate(() => {
        turn += 1
      })
    }
    return new Response()
  })
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(65_536)
  expect(new Set(turns).size).toBe(pieces.length)
  expect(Buffer.concat(pieces).equals(whole)).toBe(true)
})

test('the pieces and the ends of several bodies have a turn of the event loop of their own each, however small they are', async () => {
  const bodies = new RequestBodies({ bodyMaxBytes: 1_000, maxBytes: 1_000 })
  using turns = countTurns()
  const readIn: number[] = []
  const read = async () => {
    const request = new Request('http://shop.example/', { method: 'POST', body: 'x'.repeat(100) })
    await bodies.answering(request, async body => {
      for await (const _ of body.chunks()) readIn.push(turns.count())
      readIn.push(turns.count())
      return new Response()
    })
  }
  await Promise.all(Array.from({ length: 5 }, read))
  expect(readIn).toHaveLength(10)
  expect(new Set(readIn).size).toBe(10)
})

test('whole bodies that take long have a turn of the event loop of their own each', async () => {
  const bodies = new RequestBodies({ bodyMaxBytes: 1_000, maxBytes: 1_000 })
  using turns = countTurns()
  const readIn: number[] = []
  const answer = async (body: RequestBody) => {
    await body.bytes()
    readIn.push(turns.count())
    Bun.sleepSync(6)
    return new Response()
  }
  const server = Bun.serve({ port: 0, fetch: request => bodies.answering(request, answer) })
  const send = () => fetch(server.url, { method: 'POST', body: 'x'.repeat(100) })
  await Promise.all(Array.from({ length: 8 }, send))
  expect(readIn).toHaveLength(8)
  expect(new Set(readIn).size).toBe(8)
  await server.stop(true)
})

interface Begun {
  /** `null` for chunks; a text is sent as it is. */
  readonly length: number | string | null
  readonly sent?: string
  readonly type?: string
  readonly client?: string
}

/** Sends the beginning of a request. */
function begin(
  { address }: Pick<Service, 'address'>,
  { length, sent = '{', type = 'application/json', client }: Begun,
) {
  const { hostname, port } = new URL(address)
  const socket: Socket = connect(Number(port), hostname)
  const answer = new Promise<string>(resolve => socket.once('data', data => resolve(data.toString())))
  socket.on('error', () => {})
  const fields = [
    'POST /products/ HTTP/1.1',
    'Host: shop.example',
    `Content-Type: ${type}`,
    length === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    ...(client === undefined ? [] : [`X-Forwarded-For: ${client}`]),
  ]
  socket.write(`${fields.join('\r\n')}\r\n\r\n${sent}`)
  return { socket, answer, [Symbol.dispose]: () => void socket.destroy() }
}

function begun(service: Service, open: DisposableStack, request: Begun): Promise<string> {
  return open.use(begin(service, request)).answer
}
