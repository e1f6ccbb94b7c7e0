import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { reviewedProduct } from '../../../test/harness/catalog/created.ts'
import { createCategories, nextOf } from '../../../test/harness/catalog/list-pages.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { onOneEngine, withEachEngine } from '../../../test/harness/contract.ts'
import { type Engine, sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'
import { type ServedShop, startShopOn } from '../../../test/harness/shop.ts'

setDefaultTimeout(120_000)

const NDJSON = 'application/x-ndjson'

const Ids = z.array(z.object({ id: z.int() }))

/** The error of a line whose id is not above every id so far. */
function notNew(line: number) {
  return { loc: ['body', line, 'id'], type: 'value_error', msg: 'Value error, an id must be above every id so far' }
}

function startShop(engine: Engine, flags: readonly string[] = []): Promise<ServedShop> {
  return startShopOn(engine, { flags: ['--access-log', 'off', ...flags] })
}

function post(api: Client, path: string, lines: readonly unknown[], type = NDJSON) {
  const body = lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  return api.send(path, { method: 'POST', body, headers: { 'Content-Type': type } })
}

withEachEngine('NDJSON', engine => {
  let shop: ServedShop
  let api: Client
  beforeAll(async () => {
    shop = await startShop(engine)
    api = shop.api
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('each list comes as NDJSON, with the same items and the same link to the next page', async () => {
    const [categoryId] = await createCategories(api, 250)
    const { productId, userId } = await reviewedProduct(api, 3)
    await api.create(`/products/${categoryId}/products`, sample.product)
    const lists = [
      '/categories/',
      '/products/',
      '/users/',
      '/reviews/',
      `/products/${categoryId}/products`,
      `/reviews/products/${productId}`,
      `/reviews/users/${userId}`,
      `/reviews/products/${productId}/users/${userId}`,
    ]
    for (const path of [...lists, '/categories/?limit=2', '/categories/?limit=240', '/users/?skip=500']) {
      const json = await api.get(path)
      const lines = await api.get(path, { Accept: `${NDJSON}, application/json;q=0.5` })
      expect(lines.headers.get('Content-Type'), path).toBe(NDJSON)
      const text = z.string().parse(lines.body)
      expect(text, path).toEndWith(text === '' ? '' : '\n')
      const items = text.split('\n').slice(0, -1)
      expect(
        items.map(item => JSON.parse(item)),
        path,
      ).toEqual(z.array(z.unknown()).parse(json.body))
      expect(nextOf(lines), path).toBe(nextOf(json))
    }
    const absent = await api.get('/reviews/products/999999', { Accept: NDJSON })
    expect(absent).toMatchObject({ status: 404, body: { detail: 'Product not found' } })
    const single = await api.get(`/categories/${categoryId}`, { Accept: NDJSON })
    expect(single.body).toMatchObject({ id: categoryId })
  })

  test('NDJSON that is posted to a collection creates a resource of each line', async () => {
    const category = (await api.create('/categories/', sample.category)) + 9
    const categories = await post(api, '/categories/', [sample.category, '', { ...sample.category, id: category }])
    expect(categories).toMatchObject({ status: 200, body: { created: 2, ids: [expect.any(Number), category] } })
    const before = await api.create('/products/', sample.product)
    const products = Array.from({ length: 250 }, () => ({ ...sample.product, category_id: category }))
    const { body } = await post(api, '/products/', products, `${NDJSON}; charset=utf-8`)
    const ids = Array.from({ length: 250 }, (_, place) => before + 1 + place)
    expect(body).toEqual({ created: 250, ids })
    expect((await api.get(`/products/${category}/products`)).body).toMatchObject(ids.map(id => ({ id, name: 'Spade' })))
    const user = (await api.create('/users/', sample.user)) + 1
    expect((await post(api, '/users/', [sample.user, { ...sample.user, password: '**********' }])).body).toEqual({
      created: 2,
      ids: [user, user + 1],
    })
    const path = `/products/${ids[0]}`
    expect((await api.get(path)).body).toMatchObject({ reviews: [] })
    await post(
      api,
      '/reviews/',
      [user, user + 1].map(one => sample.review(before + 1, one)),
    )
    expect((await api.get(path)).body).toMatchObject({ reviews: [{ user_id: user }, { user_id: user + 1 }] })
    expect(await engine.everything(shop.url)).not.toContain(sample.user.password)
  })

  test('if a line is wrong, nothing is created, and the answer names all wrong lines', async () => {
    const { productId, userId } = await reviewedProduct(api, 0)
    const of = (product: number, user: number) => sample.review(product, user)
    const [noProduct, noUser] = [productId + 100_000, userId + 100_000]
    const lines = [of(productId, userId), '', { rating: 9 }, '{"rating":', '[]']
    expect(await post(api, '/reviews/', lines)).toMatchObject({
      status: 422,
      body: {
        detail: [
          { loc: ['body', 3, 'product_id'], type: 'missing', msg: 'Field required' },
          { loc: ['body', 3, 'user_id'], type: 'missing', msg: 'Field required' },
          {
            loc: ['body', 3, 'rating'],
            type: 'less_than_equal',
            msg: 'Input should be less than or equal to 5',
          },
          { loc: ['body', 3, 'comment'], type: 'missing', msg: 'Field required' },
          { loc: ['body', 4, 10], type: 'json_invalid', msg: 'JSON decode error' },
          {
            loc: ['body', 5],
            type: 'model_attributes_type',
            msg: 'Input should be a valid dictionary or object to extract fields from',
          },
        ],
      },
    })
    const above = (await api.create('/reviews/', of((await reviewedProduct(api, 0)).productId, userId))) + 5
    const unknown = [of(productId, userId), of(productId, noUser), { ...of(noProduct, userId), id: above }]
    expect((await post(api, '/reviews/', unknown)).body).toEqual({
      detail: [
        { loc: ['body', 2, 'user_id'], type: 'value_error', msg: 'Value error, User not found' },
        { loc: ['body', 3, 'product_id'], type: 'value_error', msg: 'Value error, Product not found' },
      ],
    })
    const both = [of(productId, noUser), { ...of(productId, userId), rating: 9 }, of(noProduct, userId)]
    expect((await post(api, '/reviews/', both)).body).toMatchObject({
      detail: [{ loc: ['body', 1, 'user_id'] }, { loc: ['body', 2, 'rating'] }, { loc: ['body', 3, 'product_id'] }],
    })
    expect((await api.get(`/reviews/products/${productId}`)).body).toEqual([])
    expect(await api.create('/reviews/', of(productId, userId))).toBeGreaterThan(0)
  })

  test('of lines with ids of their own, while others create through two nodes, a follower misses none', async () => {
    await using second = await startService(shop.url, { flags: ['--access-log', 'off'] })
    const nodes = [api, client(() => second.address)] as const
    const start = await api.create('/products/', sample.product)
    const seen: number[] = []
    let isOver = false
    const follow = async () => {
      for (let isLast = false; !isLast; ) {
        isLast = isOver
        const { body } = await nodes[1].get(`/products/?limit=1000&after_id=${seen.at(-1) ?? start}`)
        seen.push(...Ids.parse(body).map(({ id }) => id))
      }
    }
    const follower = follow()
    const bulk = Array.from({ length: 20 }, (_, round) => {
      // Lower ones, too.
      const lines = [
        sample.product,
        { ...sample.product, id: start + 1_000 * (1 + ((round * 7) % 20)) },
        sample.product,
      ]
      return post(nodes[round % 2] ?? api, '/products/', lines)
    })
    const single = Array.from({ length: 100 }, (_, place) => nodes[place % 2]?.post('/products/', sample.product))
    const answers = await Promise.all(bulk)
    for (const answer of await Promise.all(single)) expect(answer?.status).toBe(200)
    isOver = true
    await follower
    const all = Ids.parse((await api.get(`/products/?limit=1000&after_id=${start}`)).body).map(({ id }) => id)
    expect(seen).toEqual(all)
    const stored = answers.filter(({ status }) => status === 200)
    expect(all).toHaveLength(100 + 3 * stored.length)
    expect(stored.length).toBeGreaterThan(0)
    for (const { status, body } of answers) {
      if (status !== 200) expect({ status, body }).toEqual({ status: 422, body: { detail: [notNew(2)] } })
    }
    expect(await api.create('/products/', sample.product)).toBeGreaterThan(all.at(-1) ?? 0)
  })

  test('an id is taken only if it is above every id so far, also those of deleted rows and of the lines before', async () => {
    const { productId, userId } = await reviewedProduct(api, 0)
    const review = sample.review(productId, userId)
    const base = await api.create('/reviews/', review)
    const line = (offset: number) => ({ ...review, id: base + offset })
    const ids = (...offsets: number[]) => ({ ids: offsets.map(offset => base + offset) })
    expect((await post(api, '/reviews/', [line(5), review, line(9)])).body).toMatchObject(ids(5, 6, 9))
    await api.delete(`/reviews/${base + 9}`)
    const tooHigh = { ...review, id: 2 ** 52 + 1 }
    const wrong = [line(9), line(10), line(10), review, line(11), tooHigh, line(4), line(12)]
    const { status, body } = await post(api, '/reviews/', wrong)
    expect({ status, body }).toMatchObject({
      status: 422,
      body: {
        detail: [notNew(1), notNew(3), notNew(5), { loc: ['body', 6, 'id'], type: 'less_than_equal' }, notNew(7)],
      },
    })
    expect((await api.get(`/reviews/products/${productId}`)).body).toHaveLength(3)
    expect(await api.create('/reviews/', review)).toBe(base + 10)
    expect((await post(api, '/reviews/', [line(11), review])).body).toMatchObject(ids(11, 12))
    // Of users: after the highest id, no other test could choose one.
    expect((await post(api, '/users/', [{ ...sample.user, id: 2 ** 52 }])).body).toMatchObject({ ids: [2 ** 52] })
    expect(await api.create('/users/', sample.user)).toBe(2 ** 52 + 1)
  })
})

onOneEngine('NDJSON', api => {
  test('blank lines are skipped and counted, also in a body with text that is not UTF-8', async () => {
    const line = JSON.stringify(sample.product)
    const wrong = Buffer.from(`\n \n${line}\n\r\n"\xff"\n\n`, 'latin1')
    const headers = { 'Content-Type': NDJSON }
    const answer = await api.send('/products/', { method: 'POST', body: wrong, headers })
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 5, 1], type: 'json_invalid' }] } })
    expect(answer.body).toMatchObject({ detail: { length: 1 } })
  })

  test('millions of blank lines, or of wrong ones, take little more time than as many bytes of empty ones', async () => {
    const duration = async (line: string, status: number) => {
      const body = line.repeat(4_000_000 / line.length)
      const began = performance.now()
      const answer = await api.send('/products/', { method: 'POST', body, headers: { 'Content-Type': NDJSON } })
      expect(answer.status, line).toBe(status)
      return performance.now() - began
    }
    const ofEmpty = Math.min(await duration('\n', 200), await duration('\n', 200))
    for (const blank of [' \n', '\r\n']) expect(await duration(blank, 200), blank).toBeLessThan(5 * ofEmpty)
    expect(await duration('x\n', 422)).toBeLessThan(5 * ofEmpty)
  })

  test('the error about a missing password comes with all other errors of the line, in the order of the fields', async () => {
    const missing = ['name', 'email', 'avatar', 'password'].map(field => ({
      loc: ['body', 1, field],
      type: 'missing',
    }))
    const flag = { loc: ['body', 1, 'is_active'], type: 'int_type' }
    expect(await post(api, '/users/', [{ is_active: 'yes' }])).toMatchObject({
      status: 422,
      body: { detail: [...missing, flag] },
    })
    const wrong = { ...sample.user, name: 1, password: undefined, password_hash: 'x' }
    expect(await post(api, '/users/', [wrong])).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 1, 'name'] }, { loc: ['body', 1, 'password_hash'], type: 'value_error' }] },
    })
  })

  test('a category that is no integer is refused in the words for any other id', async () => {
    const type = 'int_type'
    const msg = 'Input should be a valid integer'
    const lines = ['1', true].map(category_id => ({ ...sample.product, category_id }))
    expect((await post(api, '/products/', lines)).body).toEqual({
      detail: [1, 2].map(number => ({ loc: ['body', number, 'category_id'], msg, type })),
    })
  })

  test('an answer about lines has the same content type as any other', async () => {
    const answer = await post(api, '/products/', [sample.product])
    expect(answer.headers.get('Content-Type')).toBe('application/json')
  })

  test('a body that is too long, or encoded, is refused', async () => {
    const line = JSON.stringify({ ...sample.product, description: 'x'.repeat(1_000_000) })
    expect((await post(api, '/products/', Array(8).fill(line))).body).toMatchObject({ created: 8 })
    expect(await post(api, '/products/', Array(9).fill(line))).toMatchObject({
      status: 413,
      body: { detail: 'The body is larger than 8388608 bytes' },
    })
    const chunked = new ReadableStream({
      pull: controller => controller.enqueue(new TextEncoder().encode(`${line}\n`)),
    })
    const headers = { 'Content-Type': NDJSON }
    expect((await api.send('/products/', { method: 'POST', body: chunked, headers })).status).toBe(413)
    const encoded = { method: 'POST', body: Bun.gzipSync(line), headers: { ...headers, 'Content-Encoding': 'gzip' } }
    expect((await api.send('/products/', encoded)).status).toBe(415)
    expect(await post(api, '/products/', [])).toMatchObject({ status: 200, body: { created: 0, ids: [] } })
    for (const some of ['[]', JSON.stringify({ ...sample.product, category_id: 9 })]) {
      const wrong = await post(api, '/products/', Array(5_000).fill(some))
      expect(z.object({ detail: z.array(z.unknown()) }).parse(wrong.body).detail).toHaveLength(1_000)
    }
  })
})

test('the errors of lines beyond those that the answer names take no memory, and nothing but wrong lines no lock', async () => {
  await using shop = await startShop(sqlite)
  using other = new Database(shop.url.slice('sqlite:'.length))
  other.run('BEGIN IMMEDIATE')
  const wrong = await post(shop.api, '/products/', Array(600_000).fill('{}'))
  expect(wrong.status).toBe(422)
  if (process.platform === 'linux') expect(mostMemoryKib(shop.service)).toBeLessThan(256 * 1_024)
})

test('pages of other origins may post NDJSON, too', async () => {
  await using shop = await startShop(sqlite, ['--cors-origins', '*'])
  expect(await post(shop.api, '/products/', [sample.product])).toMatchObject({ status: 200, body: { created: 1 } })
})

function mostMemoryKib({ processId }: Service): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8'))?.[1])
}
