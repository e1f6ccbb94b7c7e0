import { expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { z } from 'zod'
import { createMany, reviewedProduct } from '../../../../test/harness/catalog/created.ts'
import { ascending, Items, idsOf, nextOf } from '../../../../test/harness/catalog/list-pages.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** Many times what the service reads or sends in one piece. */
const LONG_LIST_ITEMS = 1_000

onEachEngine('long lists', api => {
  let made: Promise<readonly number[]> | undefined
  /** The ids of as many categories, made once for the tests that only read them. */
  const longList = () => {
    made ??= createMany(api, '/categories/', Array(LONG_LIST_ITEMS).fill(sample.category))
    return made
  }

  test('a long list comes whole and in order of id, whatever its limit', async () => {
    const ids = await longList()
    const expected = new Map(ids.map(id => [id, { id, ...sample.category, products: [] }]))
    for (const limit of ['1000000000', '9007199254740991', String(LONG_LIST_ITEMS * 10)]) {
      const answer = await api.get(`/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=${limit}`)
      expect(answer.status, limit).toBe(200)
      expect(answer.headers.get('Content-Type'), limit).toBe('application/json')
      expect(answer.headers.get('Link'), limit).toBeNull()
      expect(idsOf(answer).slice(0, ids.length), limit).toEqual([...ids])
      expect(z.array(z.unknown()).parse(answer.body).slice(0, ids.length), limit).toEqual([...expected.values()])
    }
  })

  test('a long list is cut at its limit, with a link to the rest', async () => {
    const ids = await longList()
    const all = idsOf(await api.get('/categories/?limit=1000000000'))
    const skipped = all.indexOf(ids[0] ?? 0)
    const limit = LONG_LIST_ITEMS - 234
    const answer = await api.get(`/categories/?skip=${skipped}&limit=${limit}`)
    expect(idsOf(answer)).toEqual(ids.slice(0, limit))
    expect(idsOf(await api.get(nextOf(answer) ?? '')).slice(0, ids.length - limit)).toEqual(ids.slice(limit))
    const exact = await api.get(`/categories/?limit=${all.length}`)
    expect(exact.headers.get('Link')).toBeNull()
    expect(idsOf(exact)).toEqual(all)
  })

  test('a long list of the products of one category comes whole, without a limit', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const products = Array.from({ length: 900 }, (_, index) => ({
      ...sample.product,
      price: index + 1,
      category_id: categoryId,
    }))
    const ids = await createMany(api, '/products/', products)
    const answer = await api.get(`/products/${categoryId}/products`)
    expect(idsOf(answer)).toEqual(ids)
    expect(answer.headers.get('Link')).toBeNull()
  })

  test('a long list of reviews comes whole, overall and by product, by user and by both', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, 900)
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of [...nested, `/reviews/products/${productId}/users/${userId}`]) {
      expect(idsOf(await api.get(`${path}?limit=1000000000`)), path).toEqual(reviewIds)
    }
    const overall = await api.get(`/reviews/?after_id=${(reviewIds[0] ?? 0) - 1}&limit=1000000000`)
    expect(idsOf(overall)).toEqual(reviewIds)
  })

  test('a long list of heavy items comes whole', async () => {
    const before = await api.create('/products/', sample.product)
    const heavy = Array.from({ length: 40 }, (_, index) => ({
      ...sample.product,
      description: String(index % 10).repeat(100_000),
    }))
    const ids = await createMany(api, '/products/', heavy)
    const answer = await api.get(`/products/?after_id=${before}`)
    expect(idsOf(answer)).toEqual(ids)
    expect(answer.headers.get('Link')).toBeNull()
    const cut = await api.get(`/products/?after_id=${before}&limit=30`)
    expect(idsOf(cut)).toEqual(ids.slice(0, 30))
    expect(nextOf(cut)).toBe(`/products/?after_id=${ids[29]}&limit=30`)
  })

  test('a long list of items with heavy nested arrays has all items, with their arrays cut', async () => {
    const userId = await api.create('/users/', sample.user)
    const productIds = await createMany(api, '/products/', Array(4).fill(sample.product))
    for (const productId of productIds) {
      const review = { ...sample.review(productId, userId), comment: String(productId % 10).repeat(60_000) }
      await createMany(api, '/reviews/', Array(20).fill(review))
    }
    const answer = await api.get(`/products/?after_id=${(productIds[0] ?? 0) - 1}`)
    const products = z.array(z.object({ id: z.int(), reviews: Items })).parse(answer.body)
    expect(products.map(({ id, reviews }) => [id, reviews.length])).toEqual(productIds.map(id => [id, 17]))
  })

  test('a long list has each item at most once and in order while others write', async () => {
    const ids = await createMany(api, '/categories/', Array(LONG_LIST_ITEMS).fill(sample.category))
    const before = (ids[0] ?? 0) - 1
    const response = await fetch(`${api.address()}/categories/?after_id=${before}&limit=1000000000`)
    const reader = startReading(response)
    let text = await reader.next()
    const [removed, kept] = [ids.filter((_, index) => index % 100 === 99), ids.filter((_, index) => index % 100 !== 99)]
    await Promise.all(removed.map(id => api.delete(`/categories/${id}`)))
    await createMany(api, '/categories/', Array(50).fill(sample.category))
    for (let piece = await reader.next(); piece !== ''; piece = await reader.next()) text += piece
    const listed = Items.parse(JSON.parse(text)).map(({ id }) => id)
    expect(listed).toEqual(ascending([...new Set(listed)]))
    expect(listed).toEqual(expect.arrayContaining(kept))
  })

  test('a long list has no more items than its limit, and the next page none of them, even if reviews come into it', async () => {
    const { productId, userId } = await reviewedProduct(api, 0)
    const otherId = await api.create('/products/', sample.product)
    const light = sample.review(productId, userId)
    const heavy = { ...light, comment: 'x'.repeat(80_000) }
    const moving = { ...light, product_id: otherId }
    const all = await createMany(api, '/reviews/', [
      ...Array(201).fill(heavy),
      ...Array(20).fill(moving),
      ...Array(60).fill(light),
    ])
    const path = `/reviews/products/${productId}`
    const reading = startSlowly(api.address(), `${path}?limit=250`)
    const { next } = await reading.begun
    for (const id of all.slice(201, 221)) await api.patch(`/reviews/${id}`, light)
    expect(Items.parse(JSON.parse(await reading.rest())).map(({ id }) => id)).toEqual(all.slice(0, 250))
    expect(next).toBe(`${path}?skip=250&limit=250`)
    expect(idsOf(await api.get(next))).toEqual(all.slice(250))
  })

  test('a reader may abandon a long list, and the service goes on', async () => {
    const ids = await longList()
    const path = `/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=1000000000`
    for (let round = 0; round < 5; round += 1) {
      const abort = new AbortController()
      const response = await fetch(api.address() + path, { signal: abort.signal })
      const reader = startReading(response)
      expect(await reader.next()).toStartWith('[')
      abort.abort()
    }
    expect(idsOf(await api.get(path)).slice(0, ids.length)).toEqual([...ids])
    expect(await api.create('/categories/', sample.category)).toBeGreaterThan(ids.at(-1) ?? Number.POSITIVE_INFINITY)
  })

  test('a long list comes whole to many readers at once', async () => {
    const ids = await longList()
    const path = `/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=1000000000`
    const lists = await Promise.all(Array.from({ length: 8 }, async () => idsOf(await api.get(path))))
    for (const list of lists) expect(list.slice(0, ids.length)).toEqual([...ids])
  })

  test('a long list after a huge skip is its last items', async () => {
    await longList()
    const all = idsOf(await api.get('/categories/?limit=1000000000'))
    expect(all.length).toBeGreaterThanOrEqual(LONG_LIST_ITEMS)
    const answer = await api.get(`/categories/?skip=${all.length - 2}`)
    expect(idsOf(answer)).toEqual(all.slice(-2))
    expect(answer.headers.get('Link')).toBeNull()
  })
})

/** Reads a body piece by piece, so a test can stop in the middle. The end is an empty text. */
function startReading(response: Response) {
  const reader = z.instanceof(ReadableStream).parse(response.body).getReader()
  const decoder = new TextDecoder()
  return {
    next: async (): Promise<string> => {
      const { value, done } = await reader.read()
      return done ? '' : decoder.decode(value, { stream: true })
    },
  }
}

/** Requests a list over HTTP/1.0, in which a body has no marks of pieces, and stops reading after its head. */
function startSlowly(address: string, path: string) {
  const { hostname, port } = new URL(address)
  const { promise: begun, resolve: begin } = Promise.withResolvers<{ readonly next: string }>()
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', piece => {
    if (text === '') socket.pause()
    text += piece
    begin({ next: /^link: <(.*)>; rel="next"\r$/im.exec(text)?.[1] ?? '' })
  })
  socket.on('close', () => end())
  socket.write(`GET ${path} HTTP/1.0\r\n\r\n`)
  return {
    begun,
    /** The whole body. */
    rest: async () => {
      socket.resume()
      await ended
      return text.slice(text.indexOf('\r\n\r\n'))
    },
  }
}
