import { expect, test } from 'bun:test'
import { z } from 'zod'
import { LOOPBACK } from '../../test/harness/loopback.ts'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { type ListServicePeer, listAnswer, listService } from '../../test/harness/peers/list-service.ts'
import { run, startServer } from '../../test/harness/service.ts'
import { type Clock, systemClock } from '../clock.ts'
import { listen } from '../server/listen.ts'
import { createBreeds } from './app.ts'

const MORE =
  'event: DogBreedNoMass\ndata: <div id="DogBreedNoMass" hx-swap-oob="true">More breeds are coming.</div>\n\n'
const NO_MORE =
  'event: DogBreedNoMass\ndata: <div id="DogBreedNoMass" hx-swap-oob="true">No more breeds are coming.</div>\n\n'
const name = (html: string) => `event: DogBreed\ndata: <div id="DogBreed" hx-swap-oob="true">${html}</div>\n\n`

const ListAnswer = z.object({ message: z.record(z.string(), z.unknown()) })

/** Lets every wait end at once. */
const hurriedClock: Clock = {
  ...systemClock,
  after: (milliseconds, callback) => systemClock.after(milliseconds < 1_000 ? 0 : milliseconds, callback),
}

function startBreeds(service: ListServicePeer | null, clock: Clock = hurriedClock) {
  const app = createBreeds({ listUrl: service?.url ?? null, clock })
  return listen({ app, ...LOOPBACK })
}

async function streamOf(service: ListServicePeer | null, path = '/dogstream', headers: Record<string, string> = {}) {
  await using server = startBreeds(service)
  return (await fetch(server.address + path, { headers })).text()
}

async function* chunksOf(answer: Promise<Response>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const bytes of (await answer).body ?? []) yield decoder.decode(bytes)
}

test('the page connects to /dogstream, listens for three topics, and has two empty containers', async () => {
  await using server = startBreeds(null)
  const answer = await fetch(server.address)
  const html = await answer.text()
  expect(answer.headers.get('Content-Type')).toStartWith('text/html')
  expect(html).toContain('sse-connect="/dogstream"')
  expect(html).toContain('sse-swap="Terminate,DogBreedNoMass,DogBreed"')
  expect(html).toContain('<div id="DogBreedNoMass"></div>')
  expect(html).toContain('<div id="DogBreed"></div>')
})

test('the page forbids inline scripts and anything from another origin', async () => {
  await using server = startBreeds(null)
  const policy = (await fetch(server.address)).headers.get('Content-Security-Policy') ?? ''
  expect(policy).toContain("default-src 'self'")
  expect(policy).not.toContain('script-src')
})

test('every file that the page names is served by the app, under an address that is valid for exactly these contents', async () => {
  await using server = startBreeds(null)
  const html = await (await fetch(server.address)).text()
  const paths = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(4)
  for (const path of paths) {
    expect(path).toMatch(/^\/static\/[\w.]+\?v=[\w-]{22}$/)
    const answer = await fetch(server.address + path)
    expect(answer.status, path).toBe(200)
    expect(answer.headers.get('Cache-Control'), path).toBe('public, max-age=31536000, immutable')
    const ofAnotherVersion = await fetch(server.address + path.replace(/v=.*/, 'v=another'))
    expect(ofAnotherVersion.headers.get('Cache-Control'), path).toBe('no-cache')
    const tag = answer.headers.get('ETag') ?? ''
    expect((await fetch(server.address + path, { headers: { 'If-None-Match': tag } })).status, path).toBe(304)
  }
})

test('the stream is a status and a name for each key of message, in order, and a last status: byte for byte', async () => {
  await using service = listService(() => listAnswer(['zebra dog', 'akita', 'mastiff']))
  expect(await streamOf(service)).toBe(
    MORE + name('zebra dog') + MORE + name('akita') + MORE + name('mastiff') + NO_MORE,
  )
})

test('the stream is text/event-stream that nothing on the way may cache', async () => {
  await using service = listService(() => listAnswer([]))
  await using server = startBreeds(service)
  const { headers } = await fetch(`${server.address}/dogstream`)
  expect(headers.get('Content-Type')).toBe('text/event-stream')
  expect(headers.get('Cache-Control')).toBe('no-cache')
  expect(headers.get('X-Accel-Buffering')).toBe('no')
})

test("names that look like numbers, and those of an object's own members, keep their places", async () => {
  const message = '"message" : {"10":[],"__proto__":[],"9":[{"1":"\\"2\\":"}],"constructor":[],"a\\"b\\u0041":[]}'
  await using service = listService(() => new Response(`{"0":1,${message},"status":"message"}`))
  expect(await streamOf(service)).toBe(
    ['10', '__proto__', '9', 'constructor', 'a&quot;bA'].map(key => MORE + name(key)).join('') + NO_MORE,
  )
})

test('a list without names is the last status alone', async () => {
  await using service = listService(() => listAnswer([]))
  expect(await streamOf(service)).toBe(NO_MORE)
})

test('a status comes 0.2 s after the event before it, a name 0.2 s after its status, the last status at once', async () => {
  await using service = listService(() => listAnswer(['akita', 'boxer']))
  const clock = manualClock()
  await using server = startBreeds(service, clock)
  const stream = chunksOf(fetch(`${server.address}/dogstream`))
  // The last status comes with the last name.
  for (const frame of [MORE, name('akita'), MORE, name('boxer') + NO_MORE]) {
    const first = stream.next()
    await clock.waitedFor(200)
    clock.advance(199)
    await clock.waitedFor(1)
    clock.advance(1)
    let text = (await first).value ?? ''
    while (text.length < frame.length) text += (await stream.next()).value ?? ''
    expect(text).toBe(frame)
  }
  expect((await stream.next()).done).toBe(true)
})

test('the stream sends names as text, whatever they hold', async () => {
  await using service = listService(() => listAnswer(['<img src=x onerror=alert(1)>', 'a"b&c', 'two\nlines\rhere']))
  const stream = await streamOf(service)
  expect(stream).toContain(name('&lt;img src=x onerror=alert(1)&gt;'))
  expect(stream).toContain(name('a&quot;b&amp;c'))
  expect(stream).toContain(name('two&#10;lines&#10;here'))
})

test('without a list service, the app lists names of its own, which it also serves in the shape of such a service', async () => {
  await using server = startBreeds(null)
  const stream = await (await fetch(`${server.address}/dogstream`)).text()
  const list = ListAnswer.parse(await (await fetch(`${server.address}/breeds/list`)).json())
  const names = Object.keys(list.message)
  expect(names.length).toBeGreaterThan(10)
  expect(stream).toBe(names.map(key => MORE + name(key)).join('') + NO_MORE)
})

test('a plain client that does not say how many names it has gets no event ids', async () => {
  await using service = listService(() => listAnswer(['akita']))
  expect(await streamOf(service)).not.toContain('id:')
})

test('a client that counts its names gets the number of each, and resumes after its last one', async () => {
  await using service = listService(() => listAnswer(['akita', 'boxer', 'corgi']))
  expect(await streamOf(service, '/dogstream?after=1')).toBe(
    `${MORE + name('boxer')}id: 2\n\n${MORE}${name('corgi')}id: 3\n\n${NO_MORE}`,
  )
})

test('of a count in the address and one in Last-Event-ID, the greater counts', async () => {
  await using service = listService(() => listAnswer(['akita', 'boxer', 'corgi']))
  const stream = await streamOf(service, '/dogstream?after=0', { 'Last-Event-ID': '2' })
  expect(stream).toBe(`${MORE + name('corgi')}id: 3\n\n${NO_MORE}`)
})

test('a client that has all names gets the last status alone', async () => {
  await using service = listService(() => listAnswer(['akita']))
  expect(await streamOf(service, '/dogstream?after=1')).toBe(NO_MORE)
})

test('a failure of the list service is logged with its cause, and without the address that may hold a credential', async () => {
  const service = listService(() => listAnswer([]))
  await service[Symbol.asyncDispose]()
  const environment = { BREEDS_URL: service.url.replace('//', '//user:secret@') }
  const server = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'], { environment })
  const stream = await fetch(`${server.address}/dogstream`, { headers: { 'X-Request-Id': 'asked-for-this' } })
  expect(await stream.text()).toContain('The list service cannot be reached.')
  expect(await server.stop()).toBe(0)
  const lines = server
    .errors()
    .split('\n')
    .filter(line => line.includes('"logger":"breeds"'))
  expect(lines.map(line => JSON.parse(line))).toEqual([
    expect.objectContaining({
      level: 'warning',
      message: 'the list service cannot be reached',
      cause: expect.stringMatching(/refused/i),
      request_id: 'asked-for-this',
    }),
  ])
  expect(server.output() + server.errors()).not.toContain('secret')
})

test('the own list needs no proxy, even if one is set for the list services of others', async () => {
  const environment = { HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' }
  await using server = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'], { environment })
  let stream = ''
  for await (const chunk of chunksOf(fetch(`${server.address}/dogstream`))) {
    stream += chunk
    if (stream.length >= MORE.length) break
  }
  expect(stream).toStartWith(MORE)
})

test('the program serves the page, and ends with status 0 while a stream runs', async () => {
  const server = await startServer(['breeds', '--host', '127.0.0.1', '--port', '0'])
  const stream = await fetch(`${server.address}/dogstream`)
  const reading = stream.text().catch(() => 'cut')
  expect((await fetch(`${server.address}/healthz`)).status).toBe(200)
  expect(await server.stop()).toBe(0)
  await reading
})

test('a BREEDS_URL that is not an HTTP address is refused with status 2 and not repeated', async () => {
  const { status, errors } = await run(['breeds'], { environment: { BREEDS_URL: 'ftp://user:secret@host/' } })
  expect(status).toBe(2)
  expect(errors).toContain('BREEDS_URL')
  expect(errors).not.toContain('secret')
})

test('an unknown path is 404 on the breeds server, and an unsupported method 405 with Allow', async () => {
  await using server = startBreeds(null)
  expect((await fetch(`${server.address}/nothing`)).status).toBe(404)
  const answer = await fetch(`${server.address}/dogstream`, { method: 'POST' })
  expect(answer.status).toBe(405)
  expect(answer.headers.get('Allow')).toBe('GET, HEAD')
})
