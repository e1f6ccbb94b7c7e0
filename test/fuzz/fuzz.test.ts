import { expect, setDefaultTimeout, test } from 'bun:test'
import { createServer } from 'node:net'
import { generate } from 'json-schema-faker'
import { campaign, type Effort } from '../harness/campaign.ts'
import { client } from '../harness/client.ts'
import { QUICK_HASHES, withEachEngine } from '../harness/contract.ts'
import { sqlite } from '../harness/engines.ts'
import { sample } from '../harness/samples.ts'
import { type Service, startServer, startService } from '../harness/service.ts'
import { checkDescribed } from './answers.ts'
import { fuzzCatalog } from './catalog.ts'
import { Connection } from './connection.ts'
import { readDescription } from './description.ts'
import { fuzzOperations } from './operations.ts'
import type { Template } from './raw-cases.ts'
import { JSON_TYPE } from './requests.ts'
import { fuzzSockets } from './sockets.ts'

setDefaultTimeout(120_000)

const REQUESTS = 500
const WORKERS = 8

/** Enough to meet every operation and every rule. */
const FEW = 600

const LISTENING = ['--host', '127.0.0.1', '--port', '0', '--access-log', 'off']

withEachEngine('the catalog', engine => {
  campaign('whatever it is sent, the service answers as both of its descriptions say, and stays well', async effort => {
    const seen = new Set<number>()
    for (const round of effort.rounds(1)) {
      await using database = await engine.freshDatabase()
      await using service = await startService(database.url, {
        flags: ['--access-log', 'off'],
        environment: QUICK_HASHES,
      })
      const { finding, statuses } = await fuzzCatalog(service, {
        seed: round + 1,
        requests: REQUESTS,
        workers: WORKERS,
      })
      expect(finding).toBeNull()
      for (const status of statuses.keys()) seen.add(status)
    }
    // Not each seed leads to all of them.
    for (const status of [200, 304, 404, 415, 422]) expect(seen).toContain(status)
  })

  test('every body that another program makes of /openapi.strict.json is accepted', async () => {
    await using database = await engine.freshDatabase()
    await using service = await startService(database.url, {
      flags: ['--access-log', 'off'],
      environment: QUICK_HASHES,
    })
    const api = client(() => service.address)
    const ids = {
      category_id: await api.create('/categories/', sample.category),
      product_id: await api.create('/products/', sample.product),
      user_id: await api.create('/users/', sample.user),
      review_id: 0,
    }
    ids.review_id = await api.create('/reviews/', sample.review(ids.product_id, ids.user_id))
    const operations = await readDescription(service.address, '/openapi.strict.json')
    const withBody = operations.filter(({ requestBody }) => requestBody)
    expect(withBody).toHaveLength(9)
    for (const { operationId, method, path, requestBody } of withBody) {
      const schema = JSON.stringify(requestBody?.content[JSON_TYPE]?.schema)
      for (let seed = 1; seed <= 3; seed += 1) {
        const { category_id, product_id, user_id } = ids
        const made = { ...Object(await generate(JSON.parse(schema), { seed })) }
        const body = 'product_id' in made ? { ...made, product_id, user_id } : made
        const target = path.replace(/\{(\w+)\}/, (_, name: keyof typeof ids) => String(ids[name]))
        const answer = await api.send(target, {
          method,
          body: JSON.stringify(body),
          headers: { 'Content-Type': JSON_TYPE },
        })
        expect(answer.status, `${operationId} ${category_id} ${JSON.stringify(body)}`).toBe(200)
      }
    }
  })
})

test('the statuses that only settings cause are described, too', async () => {
  await using database = await sqlite.freshDatabase()
  const environment = { AUTH: 'keys', ALLOWED_HOSTS: 'shop.example', RATE_LIMIT: '8/h' }
  await using service = await startService(database.url, { flags: ['--access-log', 'off'], environment })
  const operations = await readDescription(service.address, '/openapi.strict.json')
  const operation = operations.find(({ operationId }) => operationId === 'read_products_products__get')
  if (!operation) throw new Error('no list of products')
  using connection = new Connection(service.address)
  const statuses = new Set<number>()
  for (const host of ['other.example', ...Array<string>(8).fill('shop.example')]) {
    connection.send(Buffer.from(`GET /products/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`))
    const response = await connection.read({ isHead: false, patienceMs: 10_000 })
    if (!response) throw new Error('no answer')
    checkDescribed(response, operation)
    statuses.add(response.status)
  }
  expect([...statuses]).toEqual([421, 401, 429])
})

const FAULTS: readonly (readonly [name: string, fault: Fault, told: RegExp])[] = [
  [
    'a member is missing',
    answer => ({ ...answer, text: answer.text.replace(/,"comment":"(\\.|[^"\\])*"/, '') }),
    /comment/,
  ],
  ['a member is new', answer => ({ ...answer, text: answer.text.replace('{"id":', '{"new":1,"id":') }), /additional/],
  [
    'a price is rounded',
    answer => ({ ...answer, text: answer.text.replace(/"price":[\d.e+-]+/, '"price":1') }),
    /another price/,
  ],
  ['an update fails', answer => (answer.method === 'PATCH' ? { ...answer, status: 500 } : answer), /status 500/],
  [
    'an error is not explained',
    answer => ({ ...answer, text: answer.text.replace('"query",', '"path",') }),
    /errors at/,
  ],
  [
    'a wrong rating is stored',
    answer => (/rating/.test(answer.text) ? { ...answer, status: 200 } : answer),
    /status 200/,
  ],
  ['a page has no tag to compare', answer => ({ ...answer, etag: answer.etag && 'x' }), /ETag/],
  ['an error has a tag, which nobody has described', answer => ({ ...answer, etag: 'x' }), /etag is not described/],
]

test('the fuzzer finds each fault of a service, and shows a request that has it', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  for (const [name, fault, told] of FAULTS) {
    using faulty = faultyService(service.address, fault)
    const { finding } = await fuzzOperations({ address: faulty.address, seed: 1, requests: FEW, workers: 1 })
    expect(finding?.report, name).toMatch(told)
    expect(finding?.report, name).toMatch(/request, as a JSON string of bytes:\n"[A-Z]+ \/.* HTTP\/1\.1\\r\\n/)
    expect(finding?.report, name).toContain('seed 1')
  }
})

test('the fuzzer finds bytes that are no answer, an answer too many, and a smuggled request', async () => {
  const templates = [{ method: 'GET', target: '/healthz' }]
  const well = 'HTTP/1.1 200 OK\r\nX-Request-Id: a\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 0\r\n\r\n'
  for (const [answer, told] of [
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx', /not an HTTP response/],
    ['<html>', /not an HTTP response/],
    ['HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n', /status 500/],
    [well.repeat(2_000), /answers/],
    [well.replace(': a', ': smuggled'), /smuggled/],
  ] as const) {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(answer))
    })
    const listening = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', listening.resolve)
    await listening.promise
    const place = server.address()
    const address = `http://127.0.0.1:${typeof place === 'object' ? place?.port : 0}`
    const finding = await fuzzSockets({ address, seed: 1, requests: FEW, workers: 4, templates })
    expect(finding?.report, answer.slice(0, 100)).toMatch(told)
    server.close()
  }
})

const FORM = ['Content-Type: application/x-www-form-urlencoded']

const CHAT: readonly Template[] = [
  { method: 'GET', target: '/' },
  { method: 'POST', target: '/chat/x', fields: FORM, body: 'user_prompt=%F0%9F%98%80' },
  { method: 'POST', target: '/chat/x', fields: ['Content-Type: multipart/form-data; boundary=a'], body: '--a--\r\n' },
  { method: 'GET', target: '/chat/x/answer' },
  { method: 'GET', target: '/chat/x/status' },
  { method: 'POST', target: '/chat/x/stop' },
  { method: 'GET', target: '/chatstream/x', fields: ['Accept-Encoding: gzip, br, zstd', 'Last-Event-ID: x'] },
  { method: 'HEAD', target: '/chatstream/%ff' },
]

const BREEDS: readonly Template[] = [
  { method: 'GET', target: '/' },
  { method: 'GET', target: '/dogstream?after=x', fields: ['Accept-Encoding: gzip, br', 'Last-Event-ID: x'] },
  { method: 'HEAD', target: '/dogstream' },
  { method: 'GET', target: '/breeds/list' },
  { method: 'GET', target: '/static/page.css', fields: ['If-None-Match: "x"', 'Range: bytes=x-'] },
]

campaign('whatever its socket is sent, the chat answers in HTTP and without a failure', async effort => {
  await using database = await sqlite.freshDatabase()
  await using chat = await startServer(['chat', ...LISTENING, '--database', database.url])
  await areWell(chat, CHAT, effort)
})

campaign('whatever its socket is sent, the breed page answers in HTTP and without a failure', async effort => {
  await using breeds = await startServer(['breeds', ...LISTENING])
  await areWell(breeds, BREEDS, effort)
})

async function areWell(service: Service, templates: readonly Template[], { rounds }: Effort): Promise<void> {
  for (const round of rounds(1)) {
    const options = { address: service.address, seed: round + 1, requests: FEW, workers: 4 * WORKERS, templates }
    expect(await fuzzSockets(options)).toBeNull()
    expect(service.errors()).not.toContain('"a request failed')
  }
}

interface Told {
  readonly method: string
  readonly status: number
  readonly etag: string | null
  readonly text: string
}

type Fault = (answer: Told) => Told

/** Passes requests on to a service, and answers in another way. */
function faultyService(address: string, fault: Fault) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const hasBody = method !== 'GET' && method !== 'HEAD'
      headers.delete('Accept-Encoding')
      const answer = await fetch(`${address}${pathname}${search}`, {
        method,
        headers,
        decompress: false,
        ...(hasBody && { body: await request.bytes() }),
      })
      const text = await answer.text()
      if (pathname.endsWith('.json')) return new Response(text)
      const told = fault({ method, status: answer.status, etag: answer.headers.get('ETag'), text })
      const fields = new Headers(answer.headers)
      fields.delete('Transfer-Encoding')
      if (told.etag !== null) fields.set('ETag', told.etag)
      return new Response(told.text, { status: told.status, headers: fields })
    },
  })
  return { address: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}
