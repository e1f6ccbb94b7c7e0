import { expect, spyOn, test } from 'bun:test'
import {
  type Asked,
  answer,
  cut,
  failure,
  half,
  inTurn,
  type Reply,
  type ScriptedServer,
  silence,
  startScriptedServer,
} from '../test/harness/peers/scripted-server.ts'
import { until } from '../test/harness/until.ts'
import {
  type Client,
  type ClientOptions,
  Conflict,
  createClient,
  Invalid,
  NotFound,
  RateLimited,
  StockroomError,
  tagOf,
  Unauthorized,
  Unavailable,
} from './index.js'

const AT_ONCE = { 'Retry-After': '0' }
const BUSY = failure(503, 'Too many requests are waiting', AT_ONCE)

const spade = { name: 'Spade', description: 'Steel', price: 34.5 }
const stored = { id: 7, ...spade, reviews: [] }
const tagged = answer(stored, { ETag: '"rev.hash"' })

test('a request is repeated after every failure that may pass, always with the same bytes and the same key', async () => {
  using limit = timeLimit()
  await using shop = await scripted(
    { retries: 8, timeoutMs: limit.ms },
    failure(500, 'Internal Server Error'),
    cut,
    half(stored),
    limit.end,
    answer('<h1>Bad Gateway</h1>', { 'Content-Type': 'text/html' }, 502),
    failure(409, 'A request with the same Idempotency-Key is in progress', AT_ONCE),
    failure(429, 'Too many requests', AT_ONCE),
    BUSY,
    answer(stored),
  )
  expect(await shop.client.products.create(spade)).toEqual(stored)
  expect(shop.server.asked).toHaveLength(9)
  const sent = shop.server.asked.map(({ method, path, headers, body }) => ({
    request: `${method} ${path}`,
    key: headers['idempotency-key'],
    body,
  }))
  for (const one of sent) expect<unknown>(one).toEqual(sent[0])
  expect(sent[0]).toMatchObject({ request: 'POST /products/', body: JSON.stringify(spade) })
  expect(sent[0]?.key).toMatch(/^"[0-9a-f]{32}"$/)
})

test('each create has a key of its own, or the one that it is given, as a quoted string', async () => {
  await using shop = await scripted({}, answer(stored))
  await shop.client.products.create(spade)
  await shop.client.categories.create({ name: 'Garden', description: 'Outside' })
  await shop.client.products.create(spade, { idempotencyKey: 'order "7" \\ line 1', category: 3 })
  const keys = shop.server.asked.map(({ headers }) => headers['idempotency-key'])
  expect(new Set(keys).size).toBe(3)
  expect(keys[2]).toBe(String.raw`"order \"7\" \\ line 1"`)
  expect(shop.server.asked[2]?.path).toBe('/products/3/products')
})

test('an id is one part of the path, whatever it is', async () => {
  await using shop = await scripted({}, tagged)
  const id = JSON.parse('"7/../../users/1?limit=1"')
  await shop.client.products.get(id)
  await shop.client.products.update(id, spade)
  await shop.client.products.create(spade, { category: id })
  await shop.client.products.rating(id)
  await shop.client.products.of({ category: id }).list({ after_id: 0 })
  await shop.client.reviews.of({ product: id, user: id }).list({ after_id: 0 })
  const part = '7%2F..%2F..%2Fusers%2F1%3Flimit%3D1'
  const one = `/products/${part}`
  expect(pathsOf(shop)).toEqual([
    ...[one, one, `${one}/products`],
    `/ratings/products/${part}`,
    `${one}/products?after_id=0`,
    `/reviews/products/${part}/users/${part}?after_id=0`,
  ])
})

test('a client gives up after as many retries as it was told, and says that the request may have been done', async () => {
  await using shop = await scripted({ retries: 2 }, cut)
  const error = await failureOf(shop.client.products.create(spade))
  expect(error).toBeInstanceOf(Unavailable)
  expect(error).toMatchObject({ name: 'Unavailable', status: undefined, mayBeDone: true, cause: expect.any(Error) })
  expect(error.message).toStartWith('POST /products/: no answer')
  expect(shop.server.asked).toHaveLength(3)
  await failureOf(shop.client.products.get(7, { retries: 0 }))
  expect(shop.server.asked).toHaveLength(4)
})

test('an attempt that takes too long is given up, also if the answer has begun', async () => {
  using limit = timeLimit()
  await using shop = await scripted({ retries: 1, timeoutMs: limit.ms }, limit.end, async response => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.write('{"id":')
    await Bun.sleep(20)
    limit.end()
  })
  const error = await failureOf(shop.client.products.get(7))
  expect(error).toMatchObject({ name: 'Unavailable', message: 'GET /products/7: no answer: no answer within 77777 ms' })
  expect(shop.server.asked).toHaveLength(2)
})

test('a page in place of JSON, as of another server at the address, is not called a missing answer', async () => {
  const page = answer('<!doctype html><title>Shop</title>', { 'Content-Type': 'text/html' })
  await using shop = await scripted({ retries: 0 }, page)
  const error = await failureOf(shop.client.products.list())
  expect(error).toMatchObject({ name: 'Unavailable', status: undefined, mayBeDone: true })
  expect(error.message).toStartWith('GET /products/: the answer is not JSON: ')
})

test('a create that a proxy redirects, which makes a GET of it, has not been done, and names the address to use', async () => {
  const moved: Reply = (response, asked) => {
    if (asked.path.startsWith('/new/')) return answer([stored])(response, asked)
    response.writeHead(301, { Location: `/new${asked.path}` }).end()
  }
  await using shop = await scripted({}, moved)
  const { products } = shop.client
  for (const create of [
    () => products.create(spade),
    () => products.create(spade, { category: 3 }),
    () => products.createMany([spade]),
  ]) {
    const error = await failureOf(create())
    expect(error).toMatchObject({ name: 'StockroomError', status: 200, mayBeDone: false })
    expect(error.detail).toStartWith(`redirected to ${shop.server.address}/new/products/`)
  }
  expect(shop.server.asked.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST', 'GET', 'POST', 'GET'])
})

test('an attempt may take longer than a timer can run', async () => {
  const late: Reply = async (response, asked) => {
    await Bun.sleep(20)
    await answer(stored)(response, asked)
  }
  for (const timeoutMs of [2 ** 31, Number.POSITIVE_INFINITY]) {
    await using shop = await scripted({ retries: 0, timeoutMs }, late)
    expect(await shop.client.products.get(7)).toEqual(stored)
  }
})

test('the other words of proxies for a lost answer are understood, too', async () => {
  for (const status of [504, 520, 524]) {
    const lost = answer('<h1>A timeout occurred</h1>', { 'Content-Type': 'text/html' }, status)
    await using shop = await scripted({}, lost, answer(stored))
    expect(await shop.client.products.create(spade)).toEqual(stored)
    await using always = await scripted({ retries: 1 }, lost)
    const error = await failureOf(always.client.products.create(spade))
    expect(error).toMatchObject({ name: 'Unavailable', status, mayBeDone: true })
    expect(always.server.asked).toHaveLength(2)
  }
})

test('a 408 and a 500 are repeated once, because nothing was done', async () => {
  for (const failed of [failure(408, 'The body arrived too slowly'), failure(500, 'Internal Server Error')]) {
    await using once = await scripted({}, failed, answer(stored))
    expect(await once.client.products.create(spade)).toEqual(stored)
    await using always = await scripted({}, failed)
    const error = await failureOf(always.client.products.create(spade))
    expect(error).toMatchObject({ name: 'Unavailable', mayBeDone: false })
    expect(always.server.asked).toHaveLength(2)
  }
})

test('a 503 without Retry-After is not repeated, because the database is damaged', async () => {
  await using shop = await scripted({}, failure(503, 'The database is damaged'))
  expect(await failureOf(shop.client.products.get(7))).toMatchObject({ name: 'Unavailable', status: 503 })
  expect(shop.server.asked).toHaveLength(1)
})

test('no other refusal is repeated, and each is an error of its kind', async () => {
  const kinds = new Map<number, typeof StockroomError>([
    [400, StockroomError],
    [401, Unauthorized],
    [403, Unauthorized],
    [404, NotFound],
    [405, StockroomError],
    [412, Conflict],
    [413, StockroomError],
    [415, StockroomError],
    [421, StockroomError],
    [422, Invalid],
  ])
  for (const [status, kind] of kinds) {
    await using shop = await scripted({}, failure(status, 'No'))
    const error = await failureOf(shop.client.products.update(7, spade))
    expect(error.constructor).toBe(kind)
    expect(error).toBeInstanceOf(StockroomError)
    expect(error).toMatchObject({ name: kind.name, status, detail: 'No', mayBeDone: false })
    expect(error.message).toBe(`PUT /products/7: ${status} No`)
    expect(shop.server.asked).toHaveLength(1)
  }
})

test('a refusal in other words than those of the service, as of a proxy, says what its status says', async () => {
  await using shop = await scripted({}, answer('<h1>Down</h1>', { 'Content-Type': 'text/html' }, 403))
  const error = await failureOf(shop.client.products.get(7))
  expect(error).toMatchObject({ name: 'Unauthorized', detail: 'Forbidden', message: 'GET /products/7: 403 Forbidden' })
})

test('NotFound has the resource, or null if there is no such operation', async () => {
  await using shop = await scripted({}, failure(404, 'Product not found'), failure(404, 'Not Found'))
  expect(await failureOf(shop.client.products.get(7))).toMatchObject({ resource: 'Product' })
  expect(await failureOf(shop.client.products.rating(7))).toMatchObject({ resource: null })
})

test('Invalid has all errors, and its message names them', async () => {
  const errors = [
    { type: 'extra_forbidden', loc: ['query', 'colour'], msg: 'Extra inputs are not permitted' },
    { type: 'literal_error', loc: ['query', 'fields', 1], msg: "Input should be '*'" },
  ]
  await using shop = await scripted({}, failure(422, errors))
  const error = await failureOf(shop.client.products.list({ q: 'a secret' }))
  expect(error).toMatchObject({ name: 'Invalid', errors })
  expect(error.message).toBe(
    "GET /products/: 422 query.colour: Extra inputs are not permitted; query.fields.1: Input should be '*'",
  )
})

test('RateLimited, or Unavailable after a 409, comes after all retries, with the seconds to wait', async () => {
  for (const [status, kind] of [
    [429, RateLimited],
    [409, Unavailable],
  ] as const) {
    await using shop = await scripted({ retries: 1 }, failure(status, 'Later', AT_ONCE))
    const error = await failureOf(shop.client.products.create(spade))
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ status, retryAfter: 0 })
    expect(shop.server.asked).toHaveLength(2)
  }
})

test('a client waits as long as Retry-After says, as a number or as a date', async () => {
  const inTwoSeconds = () => new Date(Date.now() + 2_000).toUTCString()
  await using shop = await scripted(
    {},
    failure(503, 'Later', { 'Retry-After': '1' }),
    (response, asked) => failure(429, 'Later', { 'Retry-After': inTwoSeconds() })(response, asked),
    answer(stored),
  )
  const begin = performance.now()
  await shop.client.products.get(7)
  // A date has whole seconds, so the second wait is more than one.
  expect(performance.now() - begin).toBeGreaterThan(2_000)
})

test('if Retry-After is more than a minute, the caller gets the error at once', async () => {
  await using shop = await scripted({}, failure(429, 'Too many requests', { 'Retry-After': '61' }))
  expect(await failureOf(shop.client.products.get(7))).toMatchObject({ name: 'RateLimited', retryAfter: 61 })
  expect(shop.server.asked).toHaveLength(1)
})

test('a Retry-After that has passed is none to wait for, and one that cannot be read does not count', async () => {
  const retryAfterOf = async (value: string) => {
    await using shop = await scripted({ retries: 0 }, failure(429, 'Too many requests', { 'Retry-After': value }))
    return (await failureOf(shop.client.products.get(7))).retryAfter
  }
  expect(await retryAfterOf('Thu, 01 Jan 1970 00:00:00 GMT')).toBe(0)
  for (const value of ['soon', '']) expect(await retryAfterOf(value), value).toBeUndefined()
})

test('of a Retry-After to which a proxy has added its own, the first counts', async () => {
  const later = failure(429, 'Too many requests')
  await using shop = await scripted({ retries: 0 }, (response, asked) => {
    response.setHeader('Retry-After', ['20', '30'])
    return later(response, asked)
  })
  expect((await failureOf(shop.client.products.get(7))).retryAfter).toBe(20)
})

test('a Retry-After of up to a minute is obeyed, with a little jitter', async () => {
  const later = () => new Response('{"detail":"Too many requests"}', { status: 429, headers: { 'Retry-After': '60' } })
  for (const wait of await waitsOf(async () => later(), 3)) {
    expect(wait).toBeGreaterThan(60_000)
    expect(wait).toBeLessThanOrEqual(60_100)
  }
})

test('without Retry-After, the waits begin at a tenth of a second and double up to ten seconds, with jitter', async () => {
  const refuse = () => Promise.reject(new TypeError('refused'))
  const waits = await waitsOf(refuse, 9)
  for (const [index, bound] of [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000].entries()) {
    expect(waits[index]).toBeLessThanOrEqual(bound)
    expect(waits[index]).toBeGreaterThanOrEqual(bound / 2)
  }
  expect(await waitsOf(refuse, 9)).not.toEqual(waits)
})

test('a signal ends a call with its reason: before it, while it waits for the answer, and between two attempts', async () => {
  await using shop = await scripted({ timeoutMs: 60_000 }, silence, failure(503, 'Later', { 'Retry-After': '60' }))
  const reason = new Error('the user has left')
  // For the answer to the only attempt, and between two.
  for (const retries of [0, 1]) {
    const leaving = new AbortController()
    const call = failureOf(shop.client.products.create(spade, { signal: leaving.signal, retries }))
    const before = shop.server.asked.length
    while (shop.server.asked.length === before) await Bun.sleep(5)
    await Bun.sleep(50)
    leaving.abort(reason)
    expect(await call).toBe(reason as StockroomError)
  }
  expect(await failureOf(shop.client.products.get(7, { signal: AbortSignal.abort(reason) }))).toBe(
    reason as StockroomError,
  )
  expect(shop.server.asked).toHaveLength(2)
  // Less than the time until the next attempt.
}, 30_000)

test('a signal ends a call also while it waits for what the caller gives it, and no more is taken then', async () => {
  await using shop = await scripted({}, tagged)
  const reason = new Error('the user has left')
  let given = () => {}
  let isClosed = false
  async function* source() {
    try {
      for (;;) {
        await new Promise<void>(resolve => {
          given = resolve
        })
        yield spade
      }
    } finally {
      isClosed = true
    }
  }
  const leaving = new AbortController()
  const { signal } = leaving
  const creating = failureOf(shop.client.products.createMany(source(), { signal }))
  const editing = failureOf(shop.client.products.edit(7, () => new Promise(() => {}), { signal }))
  await until(() => shop.server.asked.length === 1)
  await Bun.sleep(50)
  leaving.abort(reason)
  expect(await creating).toBe(reason as StockroomError)
  expect(await editing).toBe(reason as StockroomError)
  given()
  await until(() => isClosed)
  expect(shop.server.asked.map(({ method }) => method)).toEqual(['GET'])
})

test('a call leaves no timer behind, which would keep a program from ending', async () => {
  await using shop = await scripted({}, answer(stored), failure(503, 'Later', { 'Retry-After': '60' }))
  const set = spyOn(globalThis, 'setTimeout')
  const cleared = spyOn(globalThis, 'clearTimeout')
  try {
    await shop.client.products.get(7)
    const leaving = new AbortController()
    const call = failureOf(shop.client.products.get(7, { signal: leaving.signal }))
    await until(() => set.mock.calls.some(([, ms]) => Number(ms) >= 60_000))
    leaving.abort()
    await call
    const ended: unknown[] = cleared.mock.calls.map(([timer]) => timer)
    const long = set.mock.results.filter((_, place) => Number(set.mock.calls[place]?.[1]) >= 10_000)
    expect(long).toHaveLength(3)
    for (const { value } of long) expect(ended).toContain(value)
  } finally {
    set.mockRestore()
    cleared.mockRestore()
  }
})

test('calls with one signal share a listener, because Node warns of a leak from the eleventh on', async () => {
  await using shop = await scripted({}, silence)
  const leaving = new AbortController()
  const { signal } = leaving
  const added = spyOn(signal, 'addEventListener')
  const removed = spyOn(signal, 'removeEventListener')
  const calls = Array.from({ length: 11 }, () => failureOf(shop.client.products.get(7, { signal })))
  const feed = shop.client.events({ signal }).next()
  while (shop.server.asked.length < 12) await Bun.sleep(5)
  expect(new Set(added.mock.calls.map(([, listener]) => listener)).size).toBe(1)
  expect(removed).not.toHaveBeenCalled()
  const reason = new Error('the user has left')
  leaving.abort(reason)
  for (const call of calls) expect(await call).toBe(reason as StockroomError)
  expect(await feed).toEqual({ done: true, value: undefined })
  expect(removed).toHaveBeenCalledTimes(1)
})

test('every request asks for strict handling, and has the key', async () => {
  await using shop = await scripted({ key: 'sk_secret' }, answer([]), answer(stored))
  await shop.client.products.list()
  await shop.client.products.create(spade)
  for (const { headers } of shop.server.asked) {
    expect(headers).toMatchObject({ prefer: 'handling=strict', authorization: 'Bearer sk_secret' })
  }
})

test('to read, a page asks only its own origin for strict handling, because others would be asked before each new URL', async () => {
  const asked: unknown[] = []
  const fetch = async (_: string, { headers }: RequestInit) => {
    asked.push(headers)
    return new Response('[]')
  }
  Reflect.set(globalThis, 'location', new URL('https://shop.example/spades?q=steel'))
  try {
    await createClient('https://shop.example/api', { fetch }).products.list()
    await createClient('https://api.shop.example', { fetch }).products.list()
  } finally {
    Reflect.deleteProperty(globalThis, 'location')
  }
  expect(asked).toEqual([{ Prefer: 'handling=strict' }, {}])
})

test('an address or a key that cannot be sent is refused when the client is made', () => {
  expect(() => createClient('shop.example')).toThrow()
  expect(() => createClient('localhost:8000')).toThrow('begins with http:// or https://')
  for (const address of ['https://shop.example/#/spades', 'https://shop.example/?q=spade', 'https://shop.example?']) {
    expect(() => createClient(address), address).toThrow('query or fragment')
  }
  expect(() => createClient('https://shop.example', { key: 'two\nlines' })).toThrow()
})

test('a header that cannot be sent is refused at once, and nothing may have been done', async () => {
  await using shop = await scripted({}, answer(stored))
  for (const call of [
    shop.client.products.create(spade, { idempotencyKey: '注文 7' }),
    shop.client.products.update(7, spade, { ifMatch: '"1.h"\n' + 'X: y' }),
  ])
    expect(await failureOf(call)).toBeInstanceOf(TypeError)
  expect(shop.server.asked).toEqual([])
})

test('the address may have a path and a final slash, as behind a proxy', async () => {
  await using shop = await scripted(
    {},
    answer([stored], { Link: '</products/?after_id=7&limit=1>; rel="next"' }),
    answer([]),
  )
  const client = createClient(new URL(`${shop.server.address}/shop/`))
  const page = await client.products.list({ limit: 1 })
  await page.next()
  expect(pathsOf(shop)).toEqual(['/shop/products/?after_id=0&limit=1', '/shop/products/?after_id=7&limit=1'])
})

test('a page has its items, their number, and the next page until there is none', async () => {
  const link = { Link: '</products/?cursor=abc&limit=1&count=1000&q=spade>; rel="next"', 'X-Total-Count': '2' }
  await using shop = await scripted(
    {},
    answer([stored], link),
    answer([{ ...stored, id: 8 }], { 'X-Total-Count': '2' }),
  )
  const first = await shop.client.products.list({ q: 'spade', count: 1_000, limit: 1 })
  const second = await first.next()
  expect(first).toMatchObject({ items: [{ id: 7 }], total: 2 })
  expect(second).toMatchObject({ items: [{ id: 8 }], total: 2 })
  expect(await second?.next()).toBeNull()
  expect(pathsOf(shop)).toEqual([
    '/products/?q=spade&count=1000&limit=1',
    '/products/?cursor=abc&limit=1&count=1000&q=spade',
  ])
})

test('a page says whether there is a next one, and the cursor with which an address can begin there', async () => {
  await using shop = await scripted(
    {},
    answer([stored], { Link: '</products/?cursor=a%2Bb&limit=1&sort=-price>; rel="next"' }),
    answer([stored]),
    answer([stored], { Link: '</products/?after_id=7&limit=1>; rel="next"' }),
  )
  const { products } = shop.client
  const first = await products.list({ sort: '-price', limit: 1 })
  expect(first).toMatchObject({ hasNext: true, cursor: 'a+b' })
  expect(await products.list({ sort: '-price', limit: 1, cursor: first.cursor })).toMatchObject({
    hasNext: false,
    cursor: undefined,
  })
  expect(await products.list({ limit: 1 })).toMatchObject({ hasNext: true, cursor: undefined })
  expect(pathsOf(shop)[1]).toBe('/products/?sort=-price&limit=1&cursor=a%2Bb')
})

test('the next page has a signal of its own, and otherwise the options of the page before', async () => {
  const link = { Link: '</products/?cursor=abc&limit=1>; rel="next"' }
  await using shop = await scripted({}, answer([stored], link), answer([stored], link), BUSY)
  const typing = new AbortController()
  const page = await shop.client.products.list({ sort: 'name' }, { signal: typing.signal, retries: 0 })
  typing.abort()
  const second = await page.next()
  expect(second).toMatchObject({ items: [stored] })
  const reason = new Error('the user has left')
  expect(await failureOf(page.next({ signal: AbortSignal.abort(reason) }))).toBe(reason as StockroomError)
  expect(await failureOf(second?.next() ?? Promise.reject())).toMatchObject({ status: 503 })
  expect(shop.server.asked).toHaveLength(3)
  const error = await failureOf(second?.next({ retries: 1 }) ?? Promise.reject())
  // Without the query: what somebody searches for may be personal.
  expect(error.message).toBe('GET /products/: 503 Too many requests are waiting')
  expect(shop.server.asked).toHaveLength(5)
})

test('a place that is undefined is as good as none: the list is paged by id, so it misses nothing', async () => {
  await using shop = await scripted({}, answer([]))
  const { products } = shop.client
  await products.list({ after_id: undefined, limit: 5 })
  for await (const _ of products.all({ after_id: undefined, skip: undefined })) expect().fail('there are none')
  await products.list({ after_id: 7, skip: undefined })
  expect(pathsOf(shop)).toEqual(['/products/?after_id=0&limit=5', '/products/?after_id=0', '/products/?after_id=7'])
})

test('a signal ends a walk through all pages, also within the last one', async () => {
  const link = { Link: '</products/?after_id=7>; rel="next"' }
  await using shop = await scripted({}, answer([stored], link), answer([stored, stored]))
  const reason = new Error('the user has left')
  let walked = 0
  const walk = async () => {
    const leaving = new AbortController()
    for await (const _ of shop.client.products.all({}, { signal: leaving.signal })) {
      walked += 1
      leaving.abort(reason)
    }
  }
  expect(await failureOf(walk())).toBe(reason as StockroomError)
  expect(await failureOf(walk())).toBe(reason as StockroomError)
  expect(walked).toBe(2)
  expect(shop.server.asked).toHaveLength(2)
})

test('an empty array is left out, because nothing was chosen; of no ids there is an empty page, without a request', async () => {
  await using shop = await scripted({}, answer([]))
  const { products, categories, reviews } = shop.client
  await products.list({ category_id: [], fields: [] })
  await products.list({ category_id: [], q: '' })
  await products.get(7, { fields: [] })
  await products.facets({ category_id: [], facets: [], price_bands: [] })
  await reviews.of({ product: 7 }).list({ rating: [] })
  const before = shop.server.asked.length
  expect(await products.list({ id: [], fields: ['id'], count: 1_000 })).toMatchObject({
    items: [],
    total: 0,
    hasNext: false,
  })
  const none = await categories.list({ id: [] })
  expect(none).toMatchObject({ items: [], total: undefined, cursor: undefined })
  expect(await none.next()).toBeNull()
  expect(await Array.fromAsync(products.all({ id: [] }))).toEqual([])
  const reason = new Error('the user has left')
  const left = failureOf(products.list({ id: [] }, { signal: AbortSignal.abort(reason) }))
  expect(await left).toBe(reason as StockroomError)
  expect(shop.server.asked).toHaveLength(before)
  // The server refuses it, and does not count all.
  await products.facets({ id: [] })
  expect(pathsOf(shop)).toEqual([
    '/products/?after_id=0',
    '/products/?q=',
    '/products/7',
    '/facets/products',
    '/reviews/products/7?after_id=0',
    '/facets/products?id=',
  ])
})

test('parameters are sent as given: several values with commas, and none that is undefined', async () => {
  await using shop = await scripted({}, answer([]))
  const { products, reviews } = shop.client
  const page = await products.list({
    category_id: [3, 7],
    q: 'a&b é',
    sort: '-price',
    min_price: 0,
    max_price: undefined,
  })
  expect(page.total).toBeUndefined()
  await products.list({ fields: ['id', 'rating'] })
  await products.list({ skip: 0, limit: 2 })
  await reviews.list({ product_id: 7, rating: [4, 5] })
  await reviews.of({ product: 7 }).list({ sort: '-rating' })
  await reviews.of({ user: 5 }).list()
  await reviews.of({ product: 7, user: 5 }).list({ skip: 1 })
  await products.of({ category: 3 }).list({ fields: ['*', 'rating'] })
  expect(pathsOf(shop).map(decodeURIComponent)).toEqual([
    '/products/?category_id=3,7&q=a&b+é&sort=-price&min_price=0',
    '/products/?after_id=0&fields=id,rating',
    '/products/?skip=0&limit=2',
    '/reviews/?product_id=7&rating=4,5',
    '/reviews/products/7?sort=-rating',
    '/reviews/users/5?after_id=0',
    '/reviews/products/7/users/5?skip=1',
    '/products/3/products?after_id=0&fields=*,rating',
  ])
  expect(pathsOf(shop)[0]).toContain('q=a%26b+%C3%A9')
})

test('facets and ratings are asked for where they are', async () => {
  await using shop = await scripted({}, answer({ count: 0 }))
  await shop.client.products.facets()
  await shop.client.products.facets({ q: 'spade', facets: ['price'], price_bands: [10, 50] })
  await shop.client.products.rating(7)
  await shop.client.products.get(7, { fields: ['name', 'rating'] })
  expect(pathsOf(shop).map(decodeURIComponent)).toEqual([
    '/facets/products',
    '/facets/products?q=spade&facets=price&price_bands=10,50',
    '/ratings/products/7',
    '/products/7?fields=name,rating',
  ])
})

test('a DELETE that answers 404 after an attempt without an answer is done', async () => {
  const gone = failure(404, 'Product not found')
  await using lost = await scripted({}, cut, gone)
  expect(await lost.client.products.delete(7)).toBeNull()
  await using busy = await scripted({}, BUSY, gone)
  expect(await busy.client.products.delete(7)).toBeNull()
})

test('a DELETE that answers 404 to the only attempt that was handled finds nothing', async () => {
  const gone = failure(404, 'Product not found')
  await using first = await scripted({}, gone)
  expect(await failureOf(first.client.products.delete(7))).toBeInstanceOf(NotFound)
  await using limited = await scripted({}, failure(429, 'Too many requests', AT_ONCE), gone)
  expect(await failureOf(limited.client.products.delete(7))).toBeInstanceOf(NotFound)
})

test('a DELETE that a proxy without its server answers with a 404 of its own is not taken for done', async () => {
  const page = answer('404 page not found', { 'Content-Type': 'text/plain' }, 404)
  for (const lost of [cut, failure(502, 'Bad Gateway'), BUSY]) {
    await using shop = await scripted({}, lost, page)
    const error = await failureOf(shop.client.products.delete(7))
    expect(error).toMatchObject({ name: 'NotFound', resource: null, mayBeDone: true })
  }
})

test('an edit sends the fields with the tag that it has read, without what is embedded', async () => {
  await using shop = await scripted({}, answer(stored, { ETag: 'W/"rev.hash-gzip"' }), answer(stored))
  await shop.client.products.edit(7, product => ({ ...product, price: 30 }))
  expect(shop.server.asked[1]).toMatchObject({ method: 'PUT', path: '/products/7' })
  expect(shop.server.asked[1]?.headers['if-match']).toBe('"rev.hash-gzip"')
  expect(JSON.parse(shop.server.asked[1]?.body ?? '')).toEqual({ id: 7, ...spade, price: 30 })
})

test('an edit reads and changes again if somebody else was faster', async () => {
  const cheaper = answer({ ...stored, price: 20 }, { ETag: '"rev2.hash"' })
  await using shop = await scripted({}, tagged, failure(412, 'Product has changed'), cheaper, answer(stored))
  await shop.client.products.edit(7, async product => ({ ...product, price: product.price / 2 }))
  expect(shop.server.asked.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET', 'PUT'])
  expect(shop.server.asked[3]?.headers['if-match']).toBe('"rev2.hash"')
  expect(JSON.parse(shop.server.asked[3]?.body ?? '')).toMatchObject({ price: 10 })
})

test('an edit that loses to others each time is given up after a hundred tries, with a pause between them', async () => {
  let writes = 0
  const refused = async (_: string, { method }: RequestInit) => {
    if (method === 'GET') return new Response(JSON.stringify(stored), { headers: { ETag: '"rev.hash"' } })
    writes += 1
    return new Response('{"detail":"Product has changed"}', { status: 412 })
  }
  const waits = await waitsIn(refused, {}, client => client.products.edit(7, product => ({ ...product, price: 1 })))
  expect(writes).toBe(100)
  expect(waits).toHaveLength(99)
  for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(50)
})

test('an edit whose answer was lost is not done twice: it throws, and says that it may have been done', async () => {
  const halved = answer({ ...stored, price: 17.25 }, { ETag: '"rev2.hash"' })
  const changes: Parameters<Client['products']['edit']>[1][] = [
    product => ({ ...product, price: product.price / 2 }),
    product => Object.assign(product, { price: product.price / 2 }),
  ]
  for (const change of changes) {
    await using shop = await scripted({}, tagged, cut, failure(412, 'Product has changed'), halved)
    const error = await failureOf(shop.client.products.edit(7, change))
    expect(error).toBeInstanceOf(Conflict)
    expect(error).toMatchObject({ mayBeDone: true })
    expect(shop.server.asked.map(({ method }) => method)).toEqual(['GET', 'PUT', 'PUT', 'GET'])
  }
})

test('an edit that cannot be read again after a lost answer says that it may have been done, and one that was never sent does not', async () => {
  const refused = failure(401, 'Invalid authentication credentials')
  await using lost = await scripted({}, tagged, cut, failure(412, 'Product has changed'), refused)
  const edit = ({ client }: Shop) => failureOf(client.products.edit(7, product => ({ ...product, price: 30 })))
  expect(await edit(lost)).toMatchObject({ name: 'Unauthorized', mayBeDone: true })
  await using away = await scripted({ retries: 0 }, cut)
  expect(await edit(away)).toMatchObject({ name: 'Unavailable', mayBeDone: false })
})

test('an edit whose answer was lost succeeds if there is nothing left to change, even if it changes what it is given', async () => {
  const cheap = { ...stored, price: 29 }
  await using shop = await scripted(
    {},
    tagged,
    cut,
    failure(412, 'Product has changed'),
    answer(cheap, { ETag: '"2.h"' }),
  )
  const edited = await shop.client.products.edit(7, product => {
    product.price = 29
    return product
  })
  expect(edited).toEqual(cheap)
})

test('an edit writes nothing if the answer has no tag, because a proxy has removed it', async () => {
  await using shop = await scripted({}, answer(stored))
  const error = await failureOf(shop.client.products.edit(7, product => product))
  expect(error.message).toBe('GET /products/7: the answer has no ETag')
  expect(shop.server.asked).toHaveLength(1)
})

test('an edit whose function returns nothing says so, and writes nothing', async () => {
  await using shop = await scripted({}, tagged)
  const forgetful = (product: { price: number }) => {
    product.price = 30
  }
  const error = await failureOf(shop.client.products.edit(7, forgetful as never))
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message).toContain('returned nothing')
  expect(shop.server.asked.map(({ method }) => method)).toEqual(['GET'])
})

test('the tag of what was read or written can be sent as ifMatch, without what a proxy has made of it', async () => {
  await using shop = await scripted(
    {},
    answer(stored, { ETag: 'W/"1.h"' }),
    answer(stored, { ETag: '"2.h"' }),
    answer(stored, { ETag: '"3.h"' }),
    answer(stored),
  )
  const { products } = shop.client
  const read = await products.get(7)
  expect(tagOf(read)).toBe('"1.h"')
  const updated = await products.update(7, read, { ifMatch: tagOf(read), retries: 0 })
  expect(tagOf(updated)).toBe('"2.h"')
  expect(tagOf(await products.create(spade))).toBe('"3.h"')
  await products.delete(7, { ifMatch: tagOf(updated) })
  expect(shop.server.asked.map(({ headers }) => headers['if-match'])).toEqual([undefined, '"1.h"', undefined, '"2.h"'])
  expect(tagOf({ ...read })).toBeUndefined()
})

test('an update or delete with a tag that is undefined is refused, because it would undo what others have written', async () => {
  await using shop = await scripted({}, answer(stored))
  const ifMatch = tagOf({ ...spade })
  for (const call of [shop.client.products.update(7, spade, { ifMatch }), shop.client.products.delete(7, { ifMatch })])
    expect(await failureOf(call)).toBeInstanceOf(TypeError)
  expect(shop.server.asked).toEqual([])
})

test('an update with ifMatch fails if somebody was faster, and says whether that may have been itself', async () => {
  const changed = failure(412, 'Product has changed')
  await using shop = await scripted({}, changed)
  const error = await failureOf(shop.client.products.update(7, spade, { ifMatch: '"1.h"' }))
  expect(error).toBeInstanceOf(Conflict)
  expect(error).toMatchObject({ mayBeDone: false })
  await using lost = await scripted({}, cut, changed)
  expect(await failureOf(lost.client.products.update(7, spade, { ifMatch: '"1.h"' }))).toMatchObject({
    name: 'Conflict',
    mayBeDone: true,
  })
})

test('updates and deletes are sent so that neither Bun nor Deno sends them again by itself', async () => {
  const sent: RequestInit[] = []
  const fetch = async (_: string, init: RequestInit) => {
    sent.push(init)
    return new Response('{}')
  }
  const { products } = createClient('http://shop.example', { fetch })
  await products.update(7, spade)
  await products.delete(7)
  expect(sent).toMatchObject([{ keepalive: false, body: JSON.stringify(spade) }, { keepalive: false }])
  Reflect.set(globalThis, 'Deno', {})
  try {
    await products.update(7, spade)
  } finally {
    Reflect.deleteProperty(globalThis, 'Deno')
  }
  expect(sent[2]?.body).toBeInstanceOf(ReadableStream)
  expect(await new Response(sent[2]?.body).json()).toEqual(spade)
})

test('reviews and users are updated by PATCH', async () => {
  await using shop = await scripted({}, answer({}))
  await shop.client.reviews.update(1, { product_id: 7, user_id: 5, rating: 5, comment: 'Digs well' })
  await shop.client.users.update(5, { name: 'Ada', email: 'ada@mail.example', avatar: '', password: '**********' })
  expect(shop.server.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'PATCH /reviews/1',
    'PATCH /users/5',
  ])
})

test('many are created in bodies of at most 8 MiB, each with a key of its own that follows from the given one', async () => {
  const description = 'é'.repeat(1_000_000)
  await using shop = await startedBulkShop()
  const lines = Array.from({ length: 9 }, (_, number) => ({ ...spade, name: `Line ${number}`, description }))
  expect(await shop.client.products.createMany(lines, { idempotencyKey: 'import 7' })).toEqual({
    created: 9,
    ids: [0, 1, 2, 3, 4, 5, 6, 7, 8],
  })
  expect(shop.server.asked.map(({ headers }) => headers['idempotency-key'])).toEqual([
    '"import 7"',
    '"import 7.2"',
    '"import 7.3"',
  ])
  expect(shop.server.asked.map(({ body }) => Buffer.byteLength(body) <= 8 * 2 ** 20)).toEqual([true, true, true])
  expect(linesOf(shop.server.asked)).toEqual(lines)
  expect(shop.server.asked[0]?.headers['content-type']).toBe('application/x-ndjson')
})

test('users come in bodies of at most 256 passwords, because the server hashes each', async () => {
  await using shop = await startedBulkShop()
  const ada = { name: 'Ada Byron', email: 'ada@mail.example', avatar: '/ada.png' }
  const lines = Array.from({ length: 600 }, (_, number) => ({ ...ada, password: `secret ${number}` }))
  expect((await shop.client.users.createMany(lines)).created).toBe(600)
  const hashed = Array.from({ length: 600 }, () => ({ ...ada, password_hash: 'hash' }))
  await shop.client.users.createMany(hashed)
  const counts = shop.server.asked.map(asked => linesOf([asked]).length)
  expect(Math.max(...counts.slice(0, -1))).toBeLessThanOrEqual(256)
  expect(counts.at(-1)).toBe(600)
  expect(linesOf(shop.server.asked)).toEqual([...lines, ...hashed])
})

test('many can come from an asynchronous source, and none make no request', async () => {
  await using shop = await startedBulkShop()
  async function* source() {
    for (const name of ['Spade', 'Rake']) yield { ...spade, name }
  }
  expect(await shop.client.products.createMany(source())).toEqual({ created: 2, ids: [0, 1] })
  expect(await shop.client.products.createMany([])).toEqual({ created: 0, ids: [] })
  expect(shop.server.asked).toHaveLength(1)
})

test('an option that is undefined is as good as none', async () => {
  const late: Reply = async (response, asked) => {
    await Bun.sleep(100)
    await answer({ created: 1, ids: [7] })(response, asked)
  }
  await using slow = await scripted({ retries: 0, timeoutMs: 20 }, late)
  expect(await slow.client.products.createMany([spade], { timeoutMs: undefined })).toEqual({ created: 1, ids: [7] })
  await using busy = await scripted({}, answer([stored], { Link: '</products/?cursor=abc>; rel="next"' }), BUSY)
  const page = await busy.client.products.list({ sort: 'name' }, { retries: 0 })
  await failureOf(page.next({ retries: undefined }))
  expect(busy.server.asked).toHaveLength(2)
})

test('if a later body of many is refused, the error counts all lines, and has the ids that were created', async () => {
  const wrong = failure(422, [
    { type: 'greater_than', loc: ['body', 2, 'price'], msg: 'Input should be greater than 0' },
  ])
  await using shop = await scripted({}, answer({ created: 3, ids: [11, 12, 13] }), wrong)
  const lines = Array.from({ length: 6 }, () => ({ ...spade, description: 'd'.repeat(2_500_000) }))
  const error = await failureOf(shop.client.products.createMany(lines))
  expect(error).toMatchObject({ name: 'Invalid', created: [11, 12, 13], errors: [{ loc: ['body', 5, 'price'] }] })
  expect(error.message).toContain('body.5.price')
})

test('an error of the source of many has the ids that were created, too', async () => {
  await using shop = await scripted({}, answer({ created: 3, ids: [11, 12, 13] }))
  const unreadable = new RangeError('unreadable')
  async function* broken() {
    for (let line = 0; line < 4; line += 1) yield { ...spade, description: 'd'.repeat(2_500_000) }
    throw unreadable
  }
  const error = await failureOf(shop.client.products.createMany(broken()))
  expect<unknown>(error).toBe(unreadable)
  expect(error.created).toEqual([11, 12, 13])
  expect(shop.server.asked).toHaveLength(1)
  const frozen = Object.freeze(new RangeError('frozen'))
  const lines = (async function* () {
    yield spade
    throw frozen
  })()
  expect<unknown>(await failureOf(shop.client.products.createMany(lines))).toBe(frozen)
})

test('the reason of a signal, which other calls may have as well, says nothing of what one of them has created', async () => {
  await using shop = await startedBulkShop()
  const reason = new Error('the user has left')
  const signal = AbortSignal.abort(reason)
  expect<unknown>(await failureOf(shop.client.products.createMany([spade], { signal }))).toBe(reason)
  expect(reason).not.toHaveProperty('created')
})

test('an edit that is aborted because another call has failed changes nothing in the error of that call', async () => {
  await using shop = await scripted({ retries: 0 }, cut)
  const reason = await failureOf(shop.client.products.create(spade))
  const signal = AbortSignal.abort(reason)
  expect(await failureOf(shop.client.products.edit(7, product => product, { signal }))).toBe(reason)
  expect(reason.mayBeDone).toBe(true)
})

test('a delete that is aborted because another call has failed is not done, whatever that failure was', async () => {
  await using shop = await scripted({}, cut, failure(404, 'Category not found'))
  const reason = await failureOf(shop.client.products.create(spade, { category: 3 }))
  expect(reason).toMatchObject({ name: 'NotFound', mayBeDone: true })
  expect(await failureOf(shop.client.products.delete(7, { signal: AbortSignal.abort(reason) }))).toBe(reason)
})

/** How long a client would wait between its attempts, in milliseconds. */
async function waitsOf(fetch: () => Promise<Response>, retries: number): Promise<number[]> {
  const waits = await waitsIn(fetch, { retries }, client => client.products.get(7))
  expect(waits).toHaveLength(retries)
  return waits
}

/** How long a client would wait during a call that fails in the end, in milliseconds. */
async function waitsIn(
  fetch: NonNullable<ClientOptions['fetch']>,
  options: ClientOptions,
  call: (client: Client) => Promise<unknown>,
): Promise<number[]> {
  const TIMEOUT_MS = 7_777
  const waits: number[] = []
  const { setTimeout } = globalThis
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    if (ms !== TIMEOUT_MS) waits.push(ms)
    return setTimeout(run, ms === TIMEOUT_MS ? ms : 0)
  }) as typeof setTimeout)
  try {
    await failureOf(call(createClient('http://shop.example', { ...options, timeoutMs: TIMEOUT_MS, fetch })))
  } finally {
    timers.mockRestore()
  }
  return waits
}

/** A time limit for attempts that is over when the test says so. */
function timeLimit(): Disposable & { readonly ms: number; readonly end: () => void } {
  const ms = 77_777
  const { setTimeout } = globalThis
  let late = () => {}
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, afterMs: number) => {
    if (afterMs === ms) late = run
    return setTimeout(run, afterMs)
  }) as typeof setTimeout)
  return { ms, end: () => late(), [Symbol.dispose]: () => timers.mockRestore() }
}

type Shop = AsyncDisposable & { readonly client: Client; readonly server: ScriptedServer }

async function scripted(options: ClientOptions, ...replies: readonly [Reply, ...Reply[]]): Promise<Shop> {
  return shopOf(await startScriptedServer(inTurn(...replies)), options)
}

/** Numbers what it creates from 0. */
async function startedBulkShop(): Promise<Shop> {
  let created = 0
  const server = await startScriptedServer(({ body }) => {
    const ids = linesOf([{ body }]).map((_, index) => created + index)
    created += ids.length
    return answer({ created: ids.length, ids })
  })
  return shopOf(server, {})
}

function shopOf(server: ScriptedServer, options: ClientOptions): Shop {
  const client = createClient(server.address, options)
  return { client, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

function linesOf(asked: readonly Pick<Asked, 'body'>[]): unknown[] {
  return asked.flatMap(({ body }) => body.trimEnd().split('\n')).map(line => JSON.parse(line))
}

function pathsOf({ server }: Shop): string[] {
  return server.asked.map(({ path }) => path)
}

async function failureOf(call: Promise<unknown>): Promise<StockroomError> {
  return call.then(
    () => {
      throw new Error('it did not fail')
    },
    error => error,
  )
}
