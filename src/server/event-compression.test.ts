import { expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { createParser } from 'eventsource-parser'
import { ask, gate, serve, TWO_EVENTS, twoEvents } from '../../test/harness/served-events.ts'

test('the stream uses the coding that the client likes best, and the most compact of equals', async () => {
  await using server = serve(twoEvents)
  const codings = [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['zstd, gzip', 'zstd', zstdDecompressSync],
    ['gzip, br;q=0', 'gzip', gunzipSync],
    ['br;q=0.5, gzip;q=0.8, zstd;q=0.8', 'zstd', zstdDecompressSync],
    ['GZIP;Q=0.2', 'gzip', gunzipSync],
    ['*', 'br', brotliDecompressSync],
    ['br;q=0, *;q=0.1', 'zstd', zstdDecompressSync],
  ] as const
  for (const [accepted, coding, decompress] of codings) {
    const answer = await ask(server.address, accepted)
    expect(answer.headers.get('Content-Encoding'), accepted).toBe(coding)
    expect(answer.headers.get('Vary'), accepted).toBe('Accept-Encoding')
    expect(decompress(await answer.bytes()).toString(), accepted).toBe(TWO_EVENTS)
  }
  for (const accepted of ['identity', 'deflate', '', 'br;q=0', 'gzip;q=0.5, identity', '*;q=0', 'gzip;q=x']) {
    const answer = await ask(server.address, accepted)
    expect(answer.headers.get('Content-Encoding'), accepted).toBeNull()
    expect(await answer.text(), accepted).toBe(TWO_EVENTS)
  }
})

test('streams that have ended or that nobody reads leave their compression to others', async () => {
  await using server = serve(twoEvents)
  for (let times = 0; times < 200; times++) {
    await fetch(server.address, { method: 'HEAD', headers: { 'Accept-Encoding': 'br' } })
    const answer = await ask(server.address, 'br, gzip')
    expect(answer.headers.get('Content-Encoding'), `stream ${times}`).toBe('br')
    await answer.bytes()
  }
})

test('when a server has more streams open than large windows, it compresses the others with a small one', async () => {
  const ending = gate()
  await using server = serve(async function* () {
    yield { name: 'First', chunk: '' }
    await ending.opened
  })
  const readers = []
  for (let times = 0; times < 129; times++) {
    const answer = await ask(server.address, 'br, gzip')
    readers.push({ coding: answer.headers.get('Content-Encoding'), whole: answer.bytes() })
  }
  await using other = serve(twoEvents)
  expect((await ask(other.address, 'br, gzip')).headers.get('Content-Encoding')).toBe('br')
  ending.open()
  await Promise.all(readers.map(({ whole }) => whole))
  expect(readers.map(({ coding }) => coding)).toEqual([...Array.from({ length: 128 }, () => 'br'), 'gzip'])
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
