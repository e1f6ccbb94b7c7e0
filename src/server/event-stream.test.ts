import { expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { EventSource } from 'eventsource'
import { createParser } from 'eventsource-parser'
import { manualClock } from '../../test/manual-clock.ts'
import type { Clock } from '../clock.ts'
import { eventStream, type Frame } from './event-stream.ts'
import { listen } from './listen.ts'

/** Serves one stream, as an app does. */
function serve(frames: (left: AbortSignal) => AsyncIterable<Frame>, clock?: Clock) {
  return listen({
    fetch: (request, scope) => eventStream(request, scope, frames, clock),
    host: '127.0.0.1',
    port: 0,
    accessLog: false,
  })
}

async function* twoEvents(): AsyncGenerator<Frame> {
  yield { name: 'First', chunk: '<p>one</p>' }
  yield { id: 7 }
  yield { name: 'Second', chunk: '<pre>a\nb\r\nc\rd</pre>' }
}

const TWO_EVENTS = 'event: First\ndata: <p>one</p>\n\nid: 7\n\nevent: Second\ndata: <pre>a&#10;b&#10;c&#10;d</pre>\n\n'

/** What has come by when, so that a test can wait for it. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

test('an event is the line of its name, one line of data with line breaks as references, and an empty line', async () => {
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

test('an independent EventSource hears the events by their names', async () => {
  await using server = serve(twoEvents)
  const heard = gate()
  const source = new EventSource(server.address)
  source.addEventListener('Second', ({ data }) => {
    if (data === '<pre>a&#10;b&#10;c&#10;d</pre>') heard.open()
  })
  await heard.opened
  source.close()
})

test('the best coding that the client takes compresses the stream', async () => {
  await using server = serve(twoEvents)
  const get = (accepted: string) =>
    fetch(server.address, { headers: { 'Accept-Encoding': accepted }, decompress: false })
  const brotli = await get('gzip, deflate, br, zstd')
  expect(brotli.headers.get('Content-Encoding')).toBe('br')
  expect(brotli.headers.get('Vary')).toBe('Accept-Encoding')
  expect(brotliDecompressSync(await brotli.bytes()).toString()).toBe(TWO_EVENTS)
  const zstd = await get('zstd, gzip')
  expect(zstd.headers.get('Content-Encoding')).toBe('zstd')
  expect(zstdDecompressSync(await zstd.bytes()).toString()).toBe(TWO_EVENTS)
  const gzip = await get('gzip, br;q=0')
  expect(gzip.headers.get('Content-Encoding')).toBe('gzip')
  expect(gunzipSync(await gzip.bytes()).toString()).toBe(TWO_EVENTS)
  const plain = await get('identity')
  expect(plain.headers.get('Content-Encoding')).toBeNull()
  expect(await plain.text()).toBe(TWO_EVENTS)
})

test('an event reaches the client before the next one is written, in every coding', async () => {
  for (const coding of ['br', 'zstd', 'gzip', 'identity']) {
    let received = gate()
    await using server = serve(async function* () {
      for (const chunk of ['one', 'two', 'three']) {
        received = gate()
        yield { name: 'Count', chunk }
        await received.opened
      }
    })
    const answer = await fetch(server.address, { headers: { 'Accept-Encoding': coding } })
    const heard: string[] = []
    const parser = createParser({
      onEvent: ({ data }) => {
        heard.push(data)
        received.open()
      },
    })
    const decoder = new TextDecoder()
    for await (const bytes of answer.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }))
    expect(heard, coding).toEqual(['one', 'two', 'three'])
  }
})

test('a stream whose events repeat and grow costs less than its last event', async () => {
  const text = Array.from({ length: 4_000 }, (_, index) => `word${(index * 7_919) % 4_001} `).join('')
  await using server = serve(async function* () {
    for (let length = 100; length <= text.length; length += 100) {
      yield { name: 'Response', chunk: text.slice(0, length) }
    }
  })
  const answer = await fetch(server.address, { headers: { 'Accept-Encoding': 'br' }, decompress: false })
  expect((await answer.bytes()).length).toBeLessThan(text.length)
})

test('a stream that is silent sends a comment after a second, and then every 15 s', async () => {
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

test('a source is asked for no more than its reader takes', async () => {
  let asked = 0
  const chunk = 'x'.repeat(65_536)
  await using server = serve(async function* () {
    for (; asked < 10_000; asked++) yield { name: 'Much', chunk }
  })
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: Number(new URL(server.address).port),
    socket: { open: socket => socket.pause(), data: () => {} },
  })
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  let before = -1
  // The buffers of the two sockets take some; then nothing is asked for.
  while (asked !== before || asked === 0) {
    before = asked
    await Bun.sleep(100)
  }
  expect(asked).toBeLessThan(1_000)
  socket.end()
})
