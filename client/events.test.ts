import { expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import {
  answer,
  cut,
  failure,
  inTurn,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
} from '../test/harness/peers/scripted-server.ts'
import { until } from '../test/harness/until.ts'
import {
  type CatalogEvent,
  type ClientOptions,
  createClient,
  type Followed,
  type FollowOptions,
  StockroomError,
} from './index.js'

setDefaultTimeout(60_000)

/** As the server sends it, but with less time before the next connection. */
const RETRY = 'retry: 10\n\n'
const READY = `${RETRY}${frame('ready', '0.a', { resumed: false })}`
const RESUMED = `${RETRY}${frame('ready', '0.a', { resumed: true })}`

test('events come in order, after one ready that has the position', async () => {
  await using feed = await startFeed(streamed(READY, change(1), ': keep-alive\n\n', change(2)))
  const events = await first(3, feed)
  expect(events).toMatchObject([
    { type: 'ready', id: '0.a', data: { resumed: false } },
    { type: 'product.updated', id: '1.a', data: { id: 1, price: 1.5 }, subject: '/products/1' },
    { type: 'product.updated', id: '2.a' },
  ])
})

test('the filters and the id to go on after are sent as parameters, the access key as a header', async () => {
  await using feed = await startFeed(streamed(READY))
  await first(
    1,
    feed,
    { types: ['product', 'review.created'], product_id: [7, 8], since: '41.k3f9' },
    { key: 'sk_secret' },
  )
  const [asked] = feed.asked
  expect(decodeURIComponent(asked?.path ?? '')).toBe(
    '/events?types=product,review.created&product_id=7,8&since=41.k3f9',
  )
  expect(asked?.headers).toMatchObject({
    accept: 'text/event-stream',
    authorization: 'Bearer sk_secret',
    prefer: 'handling=strict',
  })
})

test('without a stored id, nothing is sent as one', async () => {
  await using feed = await startFeed(streamed(READY))
  await first(1, feed, { since: null })
  await first(1, feed, { since: undefined })
  expect(follow(feed, { since: null }).position).toBeUndefined()
  expect(pathsOf(feed)).toEqual(['/events', '/events'])
})

test('a stream that is cut amid a frame goes on after the last whole event, and ready is not repeated', async () => {
  const half = change(2).slice(0, 60)
  await using feed = await startFeed(
    streamed(READY, change(1), half, CUT),
    streamed(RESUMED, change(2), END),
    streamed(RESUMED, change(3)),
  )
  expect(idsOf(await first(4, feed))).toEqual(['0.a', '1.a', '2.a', '3.a'])
  expect(pathsOf(feed)).toEqual(['/events', '/events?since=1.a', '/events?since=2.a'])
})

test('an event that is sent again is not handed out again', async () => {
  await using feed = await startFeed(
    streamed(READY, change(1), change(1), change(2), CUT),
    streamed(RESUMED, change(1), change(2), change(3)),
  )
  expect(idsOf(await first(4, feed))).toEqual(['0.a', '1.a', '2.a', '3.a'])
})

test('a frame that has only an id moves the position, from which the next connection goes on', async () => {
  await using feed = await startFeed(streamed(READY, change(1), 'id: 9.a\n\n', CUT), streamed(RESUMED, change(10)))
  const events = follow(feed)
  const seen: (string | undefined)[] = [events.position]
  for await (const event of events) {
    seen.push(events.position)
    if (event.id === '10.a') break
  }
  expect(seen).toEqual([undefined, '0.a', '1.a', '10.a'])
  expect(pathsOf(feed)).toEqual(['/events', '/events?since=9.a'])
})

test('a page can tell whether the stream is open, and is told when that changes', async () => {
  await using feed = await startFeed(
    streamed(READY, change(1), CUT),
    failure(502, 'Bad Gateway'),
    streamed(RESUMED, ': keep-alive\n\n', change(2)),
  )
  const told: boolean[] = []
  const events = follow(feed, { onConnection: is => told.push(is) })
  expect(events.isConnected).toBe(false)
  const seen: unknown[] = []
  for await (const { id } of events) {
    seen.push([id, events.isConnected, told.length])
    if (id === '2.a') break
  }
  expect(seen).toEqual([
    ['0.a', true, 1],
    ['1.a', true, 1],
    ['2.a', true, 3],
  ])
  expect(told).toEqual([true, false, true, false])
  expect(events.isConnected).toBe(false)
})

test('a first connection that fails was never open', async () => {
  await using feed = await startFeed(failure(403, 'Not enough permissions'))
  const told: boolean[] = []
  await expect(follow(feed, { onConnection: is => told.push(is) }).next()).rejects.toThrow('403')
  expect(told).toEqual([])
})

test('a reset is handed out, and the feed goes on from its id', async () => {
  const reset = frame('reset', '500.b', { reason: 'expired' })
  await using feed = await startFeed(
    streamed(READY, change(1), CUT),
    streamed(RETRY, reset, CUT),
    streamed(RESUMED, change(501)),
  )
  expect(await first(4, feed)).toMatchObject([
    { type: 'ready' },
    { id: '1.a' },
    { type: 'reset', id: '500.b', data: { reason: 'expired' } },
    { id: '501.a' },
  ])
  expect(pathsOf(feed)).toEqual(['/events', '/events?since=1.a', '/events?since=500.b'])
})

test('a reset to an event that was shown before is handed out, as after the restore of a backup', async () => {
  const reset = frame('reset', '1.a', { reason: 'unknown' })
  await using feed = await startFeed(streamed(READY, change(1), change(2), CUT), streamed(RETRY, reset, change(3)))
  expect(idsOf(await first(4, feed))).toEqual(['0.a', '1.a', '2.a', '1.a'])
})

test('ready and reset are understood as CloudEvents, too', async () => {
  const whole = { specversion: '1.0', id: '3.a', source: '/', type: 'reset', data: { reason: 'unknown' } }
  await using feed = await startFeed(streamed(`event: reset\nid: 3.a\ndata: ${JSON.stringify(whole)}\n\n`))
  expect(await first(1, feed)).toEqual([whole as unknown as CatalogEvent])
})

test('frames may arrive in pieces of any size, with either line end', async () => {
  const text = [READY, change(1, 'Späten 🪏 \u2028'), change(2)].join('').replaceAll('\n', '\r\n')
  await using feed = await startFeed(async response => {
    begin(response)
    for (const byte of Buffer.from(text)) {
      response.write(Buffer.of(byte))
      if (byte === 0x0d) await Bun.sleep(1)
    }
  })
  expect(await first(3, feed)).toMatchObject([
    { id: '0.a' },
    { id: '1.a', data: { name: 'Späten 🪏 \u2028' } },
    { id: '2.a' },
  ])
})

test('a signal ends the loop and the connection, also between two connections', async () => {
  for (const replies of [[streamed(READY)], [streamed(`retry: 60000\n\n${READY.slice(RETRY.length)}`, END)]] as const) {
    await using feed = await startFeed(...replies)
    const leaving = new AbortController()
    const seen: string[] = []
    for await (const { type } of follow(feed, { signal: leaving.signal })) {
      seen.push(type)
      setTimeout(() => leaving.abort(), 50)
    }
    expect(seen).toEqual(['ready'])
    await until(() => feed.open() === 0)
  }
})

test('a signal ends the loop also if it comes when the connection is lost', async () => {
  await using feed = await startFeed(streamed(`retry: 60000\n\n${READY.slice(RETRY.length)}`, END))
  const leaving = new AbortController()
  const onConnection = (isConnected: boolean) => {
    if (!isConnected) leaving.abort()
  }
  const seen = Array.fromAsync(follow(feed, { signal: leaving.signal, onConnection }), ({ type }) => type)
  expect(await Promise.race([seen, Bun.sleep(4_000)])).toEqual(['ready'])
})

test('with a signal that has ended everything before, nothing is asked', async () => {
  await using feed = await startFeed(streamed(READY))
  expect(await Array.fromAsync(follow(feed, { signal: AbortSignal.abort() }))).toEqual([])
  expect(feed.asked).toEqual([])
})

test('a signal also stops the events that have arrived already', async () => {
  await using feed = await startFeed(streamed([READY, change(1), change(2)].join('')))
  const leaving = new AbortController()
  const seen: string[] = []
  for await (const { type } of follow(feed, { signal: leaving.signal })) {
    seen.push(type)
    leaving.abort()
  }
  expect(seen).toEqual(['ready'])
})

test('leaving the loop closes the connection', async () => {
  await using feed = await startFeed(streamed(READY))
  await first(1, feed)
  await until(() => feed.open() === 0)
})

test('return() ends a wait for the next event, and closes the connection', async () => {
  await using feed = await startFeed(streamed(READY))
  const events = follow(feed)
  await events.next()
  const waiting = events.next()
  expect(await events.return()).toEqual({ done: true, value: undefined })
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(events.isConnected).toBe(false)
  await until(() => feed.open() === 0)
})

test('throw() is rejected with its error, also while the next event is awaited, whose wait it ends', async () => {
  const error = new Error('enough')
  for (const isWaiting of [true, false]) {
    await using feed = await startFeed(streamed(READY))
    const events = follow(feed)
    await events.next()
    const waiting = isWaiting ? events.next() : null
    expect(await events.throw(error).catch((thrown: unknown) => thrown)).toBe(error)
    if (waiting) expect(await waiting).toEqual({ done: true, value: undefined })
    await until(() => feed.open() === 0)
  }
})

test('a follower leaves nothing behind at a signal that lives longer', async () => {
  await using feed = await startFeed(streamed(READY))
  const { signal } = new AbortController()
  const added = spyOn(signal, 'addEventListener')
  const removed = spyOn(signal, 'removeEventListener')
  const events = follow(feed, { signal })
  await events.next()
  expect(added).toHaveBeenCalled()
  await events.return()
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
})

test('a first connection that fails is reported, after the retries of any request', async () => {
  await using refusing = await startFeed(failure(403, 'Not enough permissions'))
  expect(await failureOf(refusing)).toMatchObject({ name: 'Unauthorized', status: 403 })
  await using off = await startFeed(failure(404, 'Not Found'))
  expect(await failureOf(off)).toMatchObject({ name: 'NotFound', resource: null })
  await using odd = await startFeed(answer(READY, { 'Content-Type': 'text/event-stream' }, 403))
  expect(await failureOf(odd)).toMatchObject({ name: 'Unauthorized', status: 403 })
  await using broken = await startFeed(cut)
  expect(await failureOf(broken, { retries: 2 })).toMatchObject({ name: 'Unavailable', status: undefined })
  expect(broken.asked).toHaveLength(3)
})

test('a stream that ends before it is ready is a failure, after as many retries as the client has', async () => {
  for (const text of ['', `${RETRY}:\n\n`]) {
    await using feed = await startFeed(streamed(text, END))
    expect(await failureOf(feed, { retries: 1 })).toMatchObject({ name: 'Unavailable', status: undefined })
    expect(feed.asked).toHaveLength(2)
  }
  await using late = await startFeed(streamed(RETRY, END), streamed(READY))
  expect(idsOf(await first(1, late))).toEqual(['0.a'])
})

test('a page in place of the stream is a failure, and no connection', async () => {
  await using server = await startFeed(
    answer('<!doctype html>\n\n<title>Shop</title>\n\n', { 'Content-Type': 'text/html' }),
  )
  const said: boolean[] = []
  const events = follow(server, { onConnection: isConnected => said.push(isConnected) }, { retries: 1 })
  expect(await events.next().catch((error: unknown) => error)).toMatchObject({ name: 'Unavailable' })
  expect(said).toEqual([])
  expect(server.asked).toHaveLength(2)
})

test('a feed that was there once is waited for, whatever fails', async () => {
  const proxy: Reply = response => {
    response.writeHead(502, { 'Content-Type': 'text/html' })
    response.end('<h1>Bad Gateway</h1>')
  }
  // HAProxy says 408 on a connection that was kept open, Traefik 404 while its server restarts.
  const said = [failure(408, 'Too slow'), failure(503, 'No server'), failure(500, 'Internal Server Error')] as const
  const failures = [cut, proxy, ...said, answer('404 page not found', {}, 404), cut] as const
  const later = failure(429, 'Too many', { 'Retry-After': '0' })
  await using feed = await startFeed(streamed(READY, CUT), ...failures, later, streamed(RESUMED, change(1)))
  expect(idsOf(await first(2, feed, {}, { retries: 0 }))).toEqual(['0.a', '1.a'])
  expect(feed.asked).toHaveLength(10)
})

test('a feed that refuses the client ends with that error', async () => {
  await using feed = await startFeed(streamed(READY, CUT), failure(401, 'Invalid authentication credentials'))
  expect(await failureOf(feed)).toMatchObject({ name: 'Unauthorized', status: 401 })
})

test('an answer of another server, JSON or not, fails the first connection, and is an outage afterwards', async () => {
  const foreign = [
    answer({ status: 'maintenance' }),
    answer('<h1>Back soon</h1>', { 'Content-Type': 'text/html' }),
  ] as const
  for (const other of foreign) {
    await using wrong = await startFeed(other)
    expect(await failureOf(wrong, { retries: 0 })).toMatchObject({
      name: 'Unavailable',
      detail: 'the answer is not a stream of events',
    })
    await using feed = await startFeed(streamed(READY, change(1), CUT), other, streamed(RESUMED, change(2)))
    expect(idsOf(await first(3, feed))).toEqual(['0.a', '1.a', '2.a'])
  }
})

test('a client waits before it connects again, as long as the server says, but at most a minute, and longer after each failure', async () => {
  const waits: number[] = []
  const { setTimeout } = globalThis
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    // Not the limits of a call and of silence.
    if ([10_000, 45_000].includes(ms)) return setTimeout(run, ms)
    waits.push(ms)
    return setTimeout(run, 0)
  }) as typeof setTimeout)
  const stream = (text: string) => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } })
  const later = (seconds: string) => new Response('{}', { status: 503, headers: { 'Retry-After': seconds } })
  const answers = [
    async () => stream(`retry: 600\n\n${READY.slice(RETRY.length)}`),
    () => Promise.reject(new TypeError('refused')),
    async () => later('30'),
    async () => later('90'),
    async () => stream(change(1)),
  ]
  try {
    const fetch = () => answers.shift()?.() ?? Promise.reject(new Error('asked too often'))
    const ids: string[] = []
    for await (const { id } of createClient('http://shop.example', { fetch }).events()) {
      if (ids.push(id) === 2) break
    }
    expect(ids).toEqual(['0.a', '1.a'])
  } finally {
    timers.mockRestore()
  }
  const [afterEnd = 0, ...others] = waits
  expect(afterEnd).toBeWithin(300, 601)
  const [afterFailure = 0, ...asked] = others
  expect(afterFailure).toBeWithin(600, 1_201)
  expect(asked).toEqual([30_000, 60_000])
})

test('a follower that gets something has no time limit until it waits again', async () => {
  const set = spyOn(globalThis, 'setTimeout')
  const cleared = spyOn(globalThis, 'clearTimeout')
  try {
    await using feed = await startFeed(streamed(READY, change(1)))
    for await (const { id } of follow(feed)) {
      const limits = set.mock.results.filter((_, place) => set.mock.calls[place]?.[1] === 45_000)
      const ended: unknown[] = cleared.mock.calls.map(([timer]) => timer)
      expect(limits).not.toEqual([])
      for (const { value } of limits) expect(ended).toContain(value)
      if (id === '1.a') break
    }
  } finally {
    set.mockRestore()
    cleared.mockRestore()
  }
})

test('a connection that is silent for three heartbeats is replaced', async () => {
  const { setTimeout } = globalThis
  let isSilent = false
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    const isOver = isSilent && ms === 45_000
    if (isOver) isSilent = false
    return setTimeout(run, isOver ? 0 : ms)
  }) as typeof setTimeout)
  try {
    await using feed = await startFeed(streamed(READY, change(1)), streamed(RESUMED, change(2)))
    const ids: string[] = []
    for await (const { id } of follow(feed)) {
      if (ids.push(id) === 3) break
      isSilent = id === '1.a'
    }
    expect(ids).toEqual(['0.a', '1.a', '2.a'])
  } finally {
    timers.mockRestore()
  }
})

test('whatever the connection does, each event comes once and in order', async () => {
  const log = Array.from({ length: 400 }, (_, index) => index + 1)
  const random = numbers(7)
  let connections = 0
  await using feed = await startFeed(async (response, { path }) => {
    connections += 1
    const since = Number.parseInt(new URLSearchParams(path.split('?')[1]).get('since') ?? '0', 10)
    if (connections % 4 === 3) return cut(response, { path } as never)
    // Sometimes the last frames are sent again.
    const from = Math.max(0, since - (connections % 3))
    const text =
      RESUMED.replace('0.a', `${since}.a`) +
      log
        .slice(from)
        .map(number => change(number))
        .join('')
    const sent = Math.min(text.length, 200 + Math.floor(random() * 6_000))
    begin(response)
    response.write(text.slice(0, sent))
    if (sent === text.length) return
    await Bun.sleep(5)
    response.socket?.destroy()
  })
  const events = await first(401, feed)
  expect(idsOf(events.slice(1))).toEqual(log.map(number => `${number}.a`))
  expect(connections).toBeGreaterThan(10)
})

const CUT = Symbol('cut')
const END = Symbol('end')

/** The last call of `follow`. */
let followed: Followed | undefined

/** Sends texts, and leaves the stream open unless told otherwise. */
function streamed(...parts: readonly (string | typeof CUT | typeof END)[]): Reply {
  const lastId = /.*\nid: (\S+)\n(.*\n)?\n/s.exec(parts.filter(part => typeof part === 'string').join(''))?.[1]
  return async response => {
    begin(response)
    for (const part of parts) {
      if (part === END) response.end()
      else if (part === CUT) {
        // Bytes that were not read before a reset are lost.
        await until(() => followed?.position === lastId || response.destroyed)
        response.socket?.destroy()
      } else response.write(part)
    }
  }
}

function begin(response: Parameters<Reply>[0]): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
}

function change(number: number, name = 'Spade'): string {
  const event = {
    specversion: '1.0',
    id: `${number}.a`,
    source: '/',
    type: 'product.updated',
    subject: `/products/${number}`,
    time: '2026-11-22T19:30:00.123Z',
    data: { id: number, name, price: number + 0.5, category_id: null },
  }
  return frame(event.type, event.id, event)
}

function frame(name: string, id: string, data: unknown): string {
  return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

interface Feed extends ScriptedServer {
  /** How many streams are open. */
  readonly open: () => number
}

async function startFeed(...replies: readonly [Reply, ...Reply[]]): Promise<Feed> {
  let open = 0
  const replyOf = inTurn(...replies)
  const server = await startScriptedServer((asked, number) => async response => {
    open += 1
    response.on('close', () => {
      open -= 1
    })
    await replyOf(asked, number)(response, asked)
  })
  return { ...server, open: () => open }
}

function follow(feed: Feed, options: FollowOptions = {}, clientOptions: ClientOptions = {}) {
  followed = createClient(feed.address, clientOptions).events(options)
  return followed
}

async function first(
  count: number,
  feed: Feed,
  options: FollowOptions = {},
  clientOptions: ClientOptions = {},
): Promise<CatalogEvent[]> {
  const events: CatalogEvent[] = []
  for await (const event of follow(feed, options, clientOptions)) {
    events.push(event)
    if (events.length === count) break
  }
  return events
}

async function failureOf(feed: Feed, options: ClientOptions = {}): Promise<StockroomError> {
  try {
    for await (const event of follow(feed, {}, options)) expect(event.type).toBe('ready')
  } catch (error) {
    if (error instanceof StockroomError) return error
    throw error
  }
  throw new Error('the feed did not fail')
}

function idsOf(events: readonly CatalogEvent[]): string[] {
  return events.map(({ id }) => id)
}

function pathsOf({ asked }: Feed): string[] {
  return asked.map(({ path }) => path)
}

/** Numbers from 0 to 1 that look random (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
