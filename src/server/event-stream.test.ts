import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { EventSource } from 'eventsource'
import { createParser } from 'eventsource-parser'
import { FACTOR, hurried } from '../../test/harness/fast-timeouts.ts'
import { atRoot, LOOPBACK } from '../../test/harness/loopback.ts'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { ask, gate, serve, TWO_EVENTS, twoEvents } from '../../test/harness/served-events.ts'
import { until } from '../../test/harness/until.ts'
import { eventStream, type ServerSentEvent } from './event-stream.ts'
import { listen } from './listen.ts'

/** How HTTP/1.1 ends a body of unknown length. */
const LAST_PIECE = '0\r\n\r\n'

test('an event is a line with its name, one data line with its line breaks as references, and an empty line', async () => {
  await using server = serve(twoEvents)
  expect(await (await fetch(server.address)).text()).toBe(TWO_EVENTS)
})

test('an independent parser reads the events, their data and ids', async () => {
  await using server = serve(twoEvents)
  const events: unknown[] = []
  const parser = createParser({ onEvent: ({ event, data, id }) => events.push({ event, data, id }) })
  parser.feed(await (await fetch(server.address)).text())
  expect(events).toEqual([
    { event: 'First', data: '<p>one</p>', id: undefined },
    { event: 'Second', data: '<pre>a&#10;b&#10;c&#10;d</pre>', id: undefined },
  ])
})

test('an independent EventSource receives the events by their names', async () => {
  await using server = serve(twoEvents)
  const heard = gate()
  const source = new EventSource(server.address)
  source.addEventListener('Second', ({ data }) => {
    if (data === '<pre>a&#10;b&#10;c&#10;d</pre>') heard.open()
  })
  await heard.opened
  source.close()
})

test('on the wire, each event is one piece, sent before the next exists, with nothing else around it', async () => {
  const received = gate()
  await using server = serve(async function* () {
    for await (const event of twoEvents()) {
      yield event
      await received.opened
    }
  })
  const client = await connect(server.address)
  const first = 'event: First\ndata: <p>one</p>\n\nid: 7\n\n'
  const second = 'event: Second\ndata: <pre>a&#10;b&#10;c&#10;d</pre>\n\n'
  const piece = (frames: string) => `${frames.length.toString(16)}\r\n${frames}\r\n`
  await client.received('\r\n\r\n')
  const head = client.text().slice(0, client.text().indexOf('\r\n\r\n'))
  expect(head.split('\r\n')).toEqual(
    expect.arrayContaining([
      'HTTP/1.1 200 OK',
      'Content-Type: text/event-stream',
      'Cache-Control: no-cache',
      'X-Accel-Buffering: no',
      'Vary: Accept-Encoding',
    ]),
  )
  await client.received(`${head}\r\n\r\n${piece(first)}`)
  received.open()
  await client.received(LAST_PIECE)
  expect(client.text()).toBe(`${head}\r\n\r\n${piece(first)}${piece(second)}${LAST_PIECE}`)
})

test('a silent stream sends a comment after a second, and then every 15 s', async () => {
  const clock = manualClock()
  const left = gate()
  await using server = serve(async function* () {
    await left.opened
    yield { name: 'Last', chunk: '' }
  }, clock)
  const answer = fetch(server.address)
  await clock.waitedFor(1_000)
  clock.advance(1_000)
  const reader = (await answer).body?.getReader()
  const next = async () => new TextDecoder().decode((await reader?.read())?.value)
  expect(await next()).toBe(':\n\n')
  for (let times = 0; times < 3; times++) {
    const comment = next()
    await clock.waitedFor(15_000)
    clock.advance(15_000)
    expect(await comment).toBe(':\n\n')
  }
  left.open()
  expect(await next()).toStartWith('event: Last')
})

test('when the client leaves, the source is told and ended', async () => {
  const told = gate()
  const ended = gate()
  await using server = serve(async function* (left) {
    try {
      yield { name: 'First', chunk: 'one' }
      await new Promise<void>(resolve => left.addEventListener('abort', () => resolve()))
      told.open()
    } finally {
      ended.open()
    }
  })
  const leaving = new AbortController()
  const answer = await fetch(server.address, { signal: leaving.signal })
  await answer.body?.getReader().read()
  leaving.abort()
  await told.opened
  await ended.opened
})

test('a reader that does not read holds up its own source alone, and ends it when it leaves', async () => {
  let taken = 0
  const ended = gate()
  const events = 2_000
  const chunk = 'x'.repeat(65_536)
  async function* much(): AsyncGenerator<ServerSentEvent> {
    for (let count = 0; count < events; count++) yield { name: 'Much', chunk }
  }
  async function* watched(): AsyncGenerator<ServerSentEvent> {
    try {
      for await (const event of much()) {
        taken += 1
        yield event
      }
    } finally {
      ended.open()
    }
  }
  await using held = serve(watched)
  const { leave } = await connect(held.address, { isReading: false })
  // The fast reader has everything long before the slow one would.
  await using free = serve(much)
  let received = 0
  for await (const bytes of (await ask(free.address, 'identity')).body ?? []) received += bytes.length
  expect(received).toBeGreaterThan(events * chunk.length)
  expect(taken).toBeLessThan(events / 4)
  leave()
  await ended.opened
})

test('a reader that takes nothing for a minute is cut, and one that reads slowly is not', async () => {
  const chunk = 'x'.repeat(65_536)
  const open = new Set<string>()
  const endless = (name: string) =>
    async function* (): AsyncGenerator<ServerSentEvent> {
      open.add(name)
      try {
        for (;;) {
          yield { name: 'Much', chunk }
          // A turn of the event loop for others.
          await Bun.sleep(0)
        }
      } finally {
        open.delete(name)
      }
    }
  const serveInHaste = (name: string) =>
    listen({
      ...LOOPBACK,
      app: atRoot((_, scope) => {
        const { allowIdle } = scope
        scope.allowIdle = seconds => allowIdle.call(scope, hurried(seconds))
        return eventStream(scope, endless(name))
      }),
    })
  await using slowServer = serveInHaste('slow')
  const slow = await connect(slowServer.address, { isReading: false })
  const reading = setInterval(() => slow.readFor(20), 500)
  await using server = serveInHaste('stalled')
  const stalled = await connect(server.address, { isReading: false })
  await until(() => open.size === 2)
  const descriptors = () => readdirSync('/dev/fd').length
  const before = descriptors()
  await Bun.sleep((60_000 / FACTOR) * 0.9)
  expect([...open]).toEqual(['slow', 'stalled'])
  await until(() => open.size === 1)
  // The server's side is closed, though the client still does not read.
  await until(() => descriptors() < before)
  stalled.goOnReading()
  await stalled.closed
  expect(stalled.text()).not.toEndWith(LAST_PIECE)
  const received = slow.text().length
  await Bun.sleep(60_000 / FACTOR)
  expect([...open]).toEqual(['slow'])
  expect(slow.text().length).toBeGreaterThan(received)
  clearInterval(reading)
  slow.leave()
  await until(() => open.size === 0)
}, 60_000)

test('one client may have only so many streams open at once, and others still get theirs', async () => {
  const ending = gate()
  await using server = listen({
    ...LOOPBACK,
    streamsPerAddress: 3,
    trustedProxies: 1,
    app: atRoot((_, scope) =>
      eventStream(scope, async function* () {
        yield { name: 'First', chunk: 'one' }
        await ending.opened
      }),
    ),
  })
  const open = async (client: string, method = 'GET') =>
    fetch(server.address, { method, headers: { 'X-Forwarded-For': client } })
  // A response that nobody holds is collected, and its stream ends.
  const held: Response[] = []
  const statusOf = async (client: string) => {
    const response = await open(client)
    held.push(response)
    return response.status
  }
  for (let count = 0; count < 5; count += 1) expect((await open('203.0.113.7', 'HEAD')).status).toBe(200)
  const leaving = new AbortController()
  const first = await fetch(server.address, {
    headers: { 'X-Forwarded-For': '203.0.113.7' },
    signal: leaving.signal,
  })
  held.push(first)
  expect([first.status, await statusOf('203.0.113.7'), await statusOf('203.0.113.7')]).toEqual([200, 200, 200])
  const refused = await open('203.0.113.7')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  expect(await refused.json()).toEqual({ detail: expect.any(String) })
  for (let count = 0; count < 3; count += 1) expect(await statusOf(`2001:db8:0:1::${count}`)).toBe(200)
  expect(await statusOf('2001:db8:0:1:ffff::')).toBe(429)
  expect(await statusOf('2001:db8:0:2::')).toBe(200)
  // A stream that leaves or ends makes room for another.
  leaving.abort()
  await until(async () => (await statusOf('203.0.113.7')) === 200)
  expect(await statusOf('203.0.113.7')).toBe(429)
  ending.open()
  await until(async () => (await statusOf('203.0.113.7')) === 200)
})

test('a client that leaves before its stream begins makes room for another, and begins no source', async () => {
  const [arrived, left] = [gate(), gate()]
  let begun = 0
  await using server = listen({
    ...LOOPBACK,
    streamsPerAddress: 1,
    app: atRoot(async (_, scope) => {
      arrived.open()
      await left.opened
      return eventStream(scope, async function* () {
        begun += 1
        yield { name: 'First', chunk: 'one' }
      })
    }),
  })
  const client = await connect(server.address)
  await arrived.opened
  client.leave()
  await until(() => server.requestsInProgress() === 0)
  left.open()
  const answer = await fetch(server.address)
  expect(answer.status).toBe(200)
  await answer.text()
  expect(begun).toBe(1)
})

test('a source that fails cuts the connection, so the stream does not look whole, and the reason is not sent', async () => {
  for (const coding of ['br', 'identity']) {
    const received = gate()
    await using server = serve(async function* () {
      yield { name: 'First', chunk: 'one' }
      await received.opened
      throw new Error('a secret reason')
    })
    const client = await connect(server.address, { coding })
    await client.received('\r\n\r\n')
    received.open()
    await client.closed
    expect(client.text(), coding).not.toEndWith(LAST_PIECE)
    expect(client.text(), coding).not.toContain('secret')
  }
})

interface Connecting {
  readonly coding?: string
  readonly isReading?: boolean
}

/** Requests over a bare socket and keeps everything received unchanged. */
async function connect(address: string, { coding = 'identity', isReading = true }: Connecting = {}) {
  const closed = gate()
  let more = gate()
  let text = ''
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: Number(new URL(address).port),
    socket: {
      data: (_, bytes) => {
        text += bytes.toString('latin1')
        more.open()
        more = gate()
      },
      close: () => closed.open(),
    },
  })
  if (!isReading) socket.pause()
  socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: ${coding}\r\n\r\n`)
  return {
    text: () => text,
    received: async (part: string) => {
      while (!text.includes(part)) await more.opened
    },
    closed: closed.opened,
    goOnReading: () => socket.resume(),
    readFor: async (milliseconds: number) => {
      socket.resume()
      await Bun.sleep(milliseconds)
      socket.pause()
    },
    leave: () => socket.terminate(),
  }
}
