import { expect, test } from 'bun:test'
import { gzipSync } from 'bun'
import { LOOPBACK } from '../../test/harness/loopback.ts'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { type ListServicePeer, listAnswer, listService } from '../../test/harness/peers/list-service.ts'
import { until } from '../../test/harness/until.ts'
import { type Clock, systemClock } from '../clock.ts'
import { listen } from '../server/listen.ts'
import { createBreeds } from './app.ts'

/** Lets every wait end at once, except the time limit for the list service. */
const hurriedClock: Clock = {
  ...systemClock,
  after: (milliseconds, callback) => systemClock.after(milliseconds < 1_000 ? 0 : milliseconds, callback),
}

function startBreeds({ url }: ListServicePeer, clock: Clock = hurriedClock) {
  const app = createBreeds({ listUrl: url, clock })
  return listen({ app, ...LOOPBACK })
}

async function streamOf(service: ListServicePeer): Promise<string> {
  await using server = startBreeds(service)
  return (await fetch(`${server.address}/dogstream`)).text()
}

const failure = (reason: string) =>
  `event: DogBreedNoMass\ndata: <div id="DogBreedNoMass" hx-swap-oob="true">The list service ${reason}. Reload the page to try again.</div>\n\n`

/** A body that repeats this chunk for as long as somebody reads it. */
function endless(chunk: Uint8Array, everyMs: number) {
  const cancelled = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    pull: async controller => {
      await Bun.sleep(everyMs)
      controller.enqueue(chunk)
    },
    cancel: () => cancelled.resolve(),
  })
  return { body, cancelled: cancelled.promise }
}

test('a list service that refuses the connection is one status that says so', async () => {
  const service = listService(() => listAnswer([]))
  await service[Symbol.asyncDispose]()
  expect(await streamOf(service)).toBe(failure('cannot be reached'))
})

test('a list service that does not answer 200 is one status that says so', async () => {
  await using service = listService(() => new Response('secret reason', { status: 503 }))
  expect(await streamOf(service)).toBe(failure('answered with status 503'))
})

test('an answer that is not JSON is one status that says so', async () => {
  await using service = listService(() => new Response('<html>'))
  expect(await streamOf(service)).toBe(failure('did not answer in JSON'))
})

test('an answer of another shape is one status that says so', async () => {
  for (const answer of ['[]', 'null', '{}', '{"message":["akita"]}', '{"message":null}', '{"message":"akita"}']) {
    await using service = listService(() => new Response(answer))
    expect(await streamOf(service), answer).toBe(failure('did not answer with a list of names'))
  }
})

test('an answer that breaks off is one status that says so', async () => {
  await using service = listService(
    () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue('{"message":{"akita":[],')
            controller.close()
          },
        }),
      ),
  )
  expect(await streamOf(service)).toBe(failure('did not answer in JSON'))
})

test('an answer made to be slow to read is read like any other', async () => {
  // A search that starts again at each quotation mark takes longer than a test may.
  await using service = listService(() => new Response(`"${'\\"'.repeat(500_000)}`))
  expect(await streamOf(service)).toBe(failure('did not answer in JSON'))
})

test('a long answer of nothing but escapes is read like any other', async () => {
  await using service = listService(() => new Response(`{"message":{"akita":"${'\\"'.repeat(500_000)}"}}`))
  expect(await streamOf(service)).toContain('>akita</div>')
})

test('visitors who come at the same time share one request, and a later visitor makes another', async () => {
  const answered = Promise.withResolvers<void>()
  await using service = listService(async () => {
    await answered.promise
    return listAnswer(['akita'])
  })
  await using server = startBreeds(service)
  const visit = async () => (await fetch(`${server.address}/dogstream`)).text()
  const visits = Array.from({ length: 8 }, visit)
  await until(() => server.requestsInProgress() === 8)
  answered.resolve()
  for (const stream of await Promise.all(visits)) expect(stream).toContain('>akita</div>')
  expect(service.asked()).toBe(1)
  expect(await visit()).toContain('>akita</div>')
  expect(service.asked()).toBe(2)
})

test('a visitor who leaves takes nothing from the others', async () => {
  const answer = Promise.withResolvers<Response>()
  await using service = listService(() => answer.promise)
  await using server = startBreeds(service)
  const visit = async (signal: AbortSignal | null = null) =>
    (await fetch(`${server.address}/dogstream`, { signal })).text()
  const leaving = new AbortController()
  const first = visit(leaving.signal).catch(() => 'left')
  await until(() => service.asked() === 1)
  const second = visit()
  await until(() => server.requestsInProgress() === 2)
  leaving.abort()
  expect(await first).toBe('left')
  await until(() => server.requestsInProgress() === 1)
  answer.resolve(listAnswer(['akita']))
  expect(await second).toContain('>akita</div>')
  expect(service.asked()).toBe(1)
})

test('a redirect is not followed, wherever it leads', async () => {
  await using elsewhere = listService(() => listAnswer(['from elsewhere']))
  const targets = [elsewhere.url, 'file:///etc/hostname', 'data:application/json,{"message":{"akita":[]}}', '/list']
  for (const target of targets) {
    await using service = listService(() => new Response(null, { status: 302, headers: { Location: target } }))
    expect(await streamOf(service), target).toBe(failure('answered with status 302'))
    expect(service.asked(), target).toBe(1)
  }
  expect(elsewhere.asked()).toBe(0)
})

test('an answer that does not end is cut at 1 MiB, and its connection is closed', async () => {
  const { body, cancelled } = endless(new Uint8Array(65_536).fill(0x20), 0)
  await using service = listService(() => new Response(body))
  expect(await streamOf(service)).toBe(failure('answered with more than 1048576 bytes'))
  await cancelled
})

test('an answer that comes byte by byte has 10 s, and then its connection is closed', async () => {
  const clock = manualClock()
  const { body, cancelled } = endless(new Uint8Array([0x20]), 5)
  await using service = listService(() => new Response(body))
  await using server = startBreeds(service, clock)
  const answer = fetch(`${server.address}/dogstream`).then(response => response.text())
  await clock.waitedFor(10_000)
  await Bun.sleep(100)
  clock.advance(10_000)
  expect(await answer).toEndWith(failure('gave no full answer within 10 seconds'))
  await cancelled
})

test('a small answer that unpacks to much more is cut at 1 MiB unpacked', async () => {
  const packed = gzipSync(new Uint8Array(64 * 1_048_576))
  expect(packed.length).toBeLessThan(100_000)
  await using service = listService(() => new Response(packed, { headers: { 'Content-Encoding': 'gzip' } }))
  expect(await streamOf(service)).toBe(failure('answered with more than 1048576 bytes'))
})

test('a list has at most 10,000 names of at most 200 characters each', async () => {
  const names = (count: number) => Array.from({ length: count }, (_, number) => `dog ${number}`)
  await using long = listService(() => listAnswer(names(10_001)))
  expect(await streamOf(long)).toBe(failure('answered with more than 10000 names'))
  await using wide = listService(() => listAnswer(['akita', 'x'.repeat(201)]))
  expect(await streamOf(wide)).toBe(failure('answered with a name longer than 200 characters'))
  await using full = listService(() => listAnswer([...names(9_999), 'x'.repeat(200)]))
  await using server = startBreeds(full)
  const stream = await (await fetch(`${server.address}/dogstream?after=9999`)).text()
  expect(stream).toContain(`>${'x'.repeat(200)}</div>`)
})
