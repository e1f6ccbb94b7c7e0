import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import type { Answer, Client } from '../../../test/harness/client.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** The specification's default page, and the longest embedded array. */
const PAGE_ITEMS = 100

/** Many times what any part of the service may read or send in one piece. */
const LONG_LIST_ITEMS = 3_000

const Items = z.array(z.object({ id: z.int() }))

onEachEngine('an empty catalog', api => {
  test('has empty lists, and ids that start at 1', async () => {
    for (const path of ['/categories/', '/products/', '/reviews/', '/users/']) {
      const answer = await api.get(path)
      expect(answer.body, path).toEqual([])
      expect(answer.headers.get('Link'), path).toBeNull()
    }
    expect(await api.create('/categories/', sample.category)).toBe(1)
    expect(await api.create('/products/', sample.product)).toBe(1)
    expect(await api.create('/users/', sample.user)).toBe(1)
    expect(await api.create('/reviews/', sample.review(1, 1))).toBe(1)
  })
})

onEachEngine('a page of a list', api => {
  test('has the first 100 items when nothing else is asked for', async () => {
    const ids = await createCategories(api, PAGE_ITEMS + 20)
    const first = idsOf(await api.get('/categories/'))
    expect(first).toBeArrayOfSize(PAGE_ITEMS)
    expect(first).toEqual(idsOf(await api.get('/categories/?limit=1000000')).slice(0, PAGE_ITEMS))
    expect(first).toEqual(idsOf(await api.get(`/categories/?skip=0&limit=${PAGE_ITEMS}`)))
    expect(ids.length).toBeGreaterThan(PAGE_ITEMS)
  })

  test('has its items in ascending order of id, also when they were changed in another order', async () => {
    const ids = await createCategories(api, 12)
    for (const id of [...ids].reverse()) await api.put(`/categories/${id}`, { ...sample.category, name: `Shelf ${id}` })
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    expect(all).toEqual(ascending(all))
    expect(all).toEqual(expect.arrayContaining(ids))
  })

  test('passes over skip items and has at most limit', async () => {
    await createCategories(api, 12)
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    for (const [skip, limit] of [
      [0, 1],
      [1, 1],
      [3, 5],
      [all.length - 1, 1],
      [all.length - 1, 7],
      [all.length - 4, 4],
    ] as const) {
      const page = idsOf(await api.get(`/categories/?skip=${skip}&limit=${limit}`))
      expect(page, `skip ${skip}, limit ${limit} of ${all.length}`).toEqual(all.slice(skip, skip + limit))
    }
  })

  test('with skip alone still has at most 100 items', async () => {
    await createCategories(api, PAGE_ITEMS + 5)
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    expect(idsOf(await api.get('/categories/?skip=2'))).toEqual(all.slice(2, 2 + PAGE_ITEMS))
  })

  test('of limit 0 is empty and leads nowhere', async () => {
    await createCategories(api, 2)
    for (const query of ['limit=0', 'limit=0&skip=1', 'limit=-0', 'limit=0&after_id=0']) {
      const answer = await api.get(`/categories/?${query}`)
      expect(answer.status, query).toBe(200)
      expect(answer.body, query).toEqual([])
      expect(answer.headers.get('Link'), query).toBeNull()
    }
  })

  test('beyond the end is empty, however far beyond', async () => {
    await createCategories(api, 2)
    const { length } = idsOf(await api.get('/categories/?limit=1000000'))
    for (const skip of [String(length), '1000000000', '9007199254740991', '9223372036854775808', '9'.repeat(400)]) {
      for (const limit of ['', '&limit=0', '&limit=1', '&limit=9007199254740991', `&limit=${'9'.repeat(400)}`]) {
        const answer = await api.get(`/categories/?skip=${skip}${limit}`)
        expect(answer.status, skip + limit).toBe(200)
        expect(answer.body, skip + limit).toEqual([])
        expect(answer.headers.get('Link'), skip + limit).toBeNull()
      }
    }
  })

  test('may be of any limit: too large to be exact acts as the largest', async () => {
    await createCategories(api, 3)
    const all = await api.get('/categories/?limit=1000000')
    for (const limit of [
      '1000000000',
      '9007199254740991',
      '9007199254740993',
      '18446744073709551616',
      '9'.repeat(400),
    ]) {
      const answer = await api.get(`/categories/?limit=${limit}`)
      expect(answer.body, limit).toEqual(all.body)
      expect(answer.headers.get('Link'), limit).toBeNull()
      expect(idsOf(await api.get(`/categories/?limit=${limit}&skip=1`)), limit).toEqual(idsOf(all).slice(1))
    }
  })

  test('misses what was deleted, and its place is not taken by another', async () => {
    const ids = await createCategories(api, 5)
    const [first, second, third, fourth, fifth] = ids
    await api.delete(`/categories/${third}`)
    await api.delete(`/categories/${fifth}`)
    const afterwards = await createCategories(api, 1)
    const rest = idsOf(await api.get(`/categories/?after_id=${(first ?? 0) - 1}&limit=1000`))
    expect(rest).toEqual([first, second, fourth, ...afterwards].filter(id => id !== undefined))
    expect(afterwards[0]).toBeGreaterThan(fifth ?? Number.POSITIVE_INFINITY)
  })
})

onEachEngine('the next page of a list', api => {
  test('is linked where the list was cut by limit, with the skip and the limit that lead there', async () => {
    await createCategories(api, PAGE_ITEMS + 20)
    expect((await api.get('/categories/?skip=3&limit=4')).headers.get('Link')).toBe(
      '</categories/?skip=7&limit=4>; rel="next"',
    )
    expect((await api.get('/categories/?limit=4')).headers.get('Link')).toBe(
      '</categories/?skip=4&limit=4>; rel="next"',
    )
    expect((await api.get('/categories/')).headers.get('Link')).toBe('</categories/?skip=100&limit=100>; rel="next"')
  })

  test('is not linked where the list ends', async () => {
    await createCategories(api, 3)
    const { length } = idsOf(await api.get('/categories/?limit=1000000'))
    for (const query of [
      `limit=${length}`,
      `limit=${length + 1}`,
      `skip=${length - 2}&limit=2`,
      `skip=${length - 1}`,
    ]) {
      expect((await api.get(`/categories/?${query}`)).headers.get('Link'), query).toBeNull()
    }
    expect((await api.get(`/categories/?limit=${length - 1}`)).headers.get('Link')).toContain('rel="next"')
    expect((await api.get(`/categories/?skip=${length - 3}&limit=2`)).headers.get('Link')).toContain('rel="next"')
  })

  test('keeps the other query parameters of the request', async () => {
    await createCategories(api, 3)
    const answer = await api.get('/categories/?colour=dark%20green&skip=1&tag=a%26b&limit=1&tag=%C3%A9')
    const next = nextOf(answer) ?? ''
    const { pathname, searchParams } = new URL(next, api.address())
    expect(next).toStartWith('/categories/?')
    expect(pathname).toBe('/categories/')
    expect([...searchParams].sort()).toEqual([
      ['colour', 'dark green'],
      ['limit', '1'],
      ['skip', '2'],
      ['tag', 'a&b'],
      ['tag', 'é'],
    ])
  })

  test('is linked relatively, whatever host the client called', async () => {
    await createCategories(api, 2)
    const headers = { Host: 'shop.example', 'X-Forwarded-Host': 'inner.example', 'X-Forwarded-Proto': 'https' }
    const answer = await api.get('/categories/?limit=1', headers)
    expect(answer.headers.get('Link')).toBe('</categories/?skip=1&limit=1>; rel="next"')
  })

  test('leads through the whole list when it is followed to the end', async () => {
    await createCategories(api, 25)
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    expect(await follow(api, '/categories/?limit=7')).toEqual(all)
    expect(await follow(api, '/categories/?limit=7&after_id=0')).toEqual(all)
  })

  test('is linked by every list that takes limit', async () => {
    const { productId, userId } = await reviewedProduct(api, 3)
    await createCategories(api, 2)
    await api.create('/products/', sample.product)
    await api.create('/users/', sample.user)
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    const paths = ['/categories/', '/products/', '/users/', '/reviews/', ...nested]
    for (const path of [...paths, `/reviews/products/${productId}/users/${userId}`]) {
      const answer = await api.get(`${path}?limit=1`)
      expect(answer.headers.get('Link'), path).toBe(`<${path}?skip=1&limit=1>; rel="next"`)
    }
  })
})

onEachEngine('a list after an id', api => {
  test('has only the items with a greater id', async () => {
    const ids = await createCategories(api, 6)
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&limit=1000`))).toEqual(ids.slice(3))
    expect(idsOf(await api.get(`/categories/?after_id=${ids[5]}`))).toEqual([])
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&limit=2`))).toEqual(ids.slice(3, 5))
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&skip=1&limit=1`))).toEqual(ids.slice(4, 5))
  })

  test('leads on by after_id, without skip', async () => {
    const ids = await createCategories(api, 6)
    const answer = await api.get(`/categories/?after_id=${ids[1]}&limit=2`)
    expect(answer.headers.get('Link')).toBe(`</categories/?after_id=${ids[3]}&limit=2>; rel="next"`)
    expect((await api.get(`/categories/?after_id=${ids[3]}&limit=2`)).headers.get('Link')).toBeNull()
  })

  test('misses nothing when an earlier item is deleted between two pages', async () => {
    const ids = await createCategories(api, 6)
    const first = await api.get(`/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=3`)
    expect(idsOf(first)).toEqual(ids.slice(0, 3))
    await api.delete(`/categories/${ids[0]}`)
    expect(idsOf(await api.get(nextOf(first) ?? ''))).toEqual(ids.slice(3))
  })

  test('may be that of an item that is gone, or that never was', async () => {
    const ids = await createCategories(api, 4)
    await api.delete(`/categories/${ids[1]}`)
    expect(idsOf(await api.get(`/categories/?after_id=${ids[1]}`))).toEqual(ids.slice(2))
    for (const after of ['9007199254740991', '9223372036854775808', '9'.repeat(400)]) {
      expect((await api.get(`/categories/?after_id=${after}`)).body, after).toEqual([])
    }
  })

  test('is refused when the id is negative or spells no integer', async () => {
    for (const [text, type] of [
      ['-1', 'greater_than_equal'],
      ['x', 'int_parsing'],
      ['', 'int_parsing'],
    ] as const) {
      const answer = await api.get(`/categories/?after_id=${text}`)
      expect(answer.status, text).toBe(422)
      expect(answer.body, text).toMatchObject({ detail: [{ loc: ['query', 'after_id'], type }] })
    }
  })

  test('is had from every list, that of the products of a category too', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, 3)
    const categoryId = await api.create('/categories/', sample.category)
    const inCategory = await createAll(api, `/products/${categoryId}/products`, 3, () => sample.product)
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of ['/reviews/', ...nested, `/reviews/products/${productId}/users/${userId}`]) {
      expect(idsOf(await api.get(`${path}?after_id=${reviewIds[0]}`)), path).toEqual(reviewIds.slice(1))
    }
    const products = await api.get(`/products/${categoryId}/products?after_id=${inCategory[0]}`)
    expect(idsOf(products)).toEqual(inCategory.slice(1))
    expect(idsOf(await api.get(`/products/?after_id=${inCategory[0]}`))).toEqual(inCategory.slice(1))
    expect(idsOf(await api.get(`/users/?after_id=${userId - 1}`))).toContain(userId)
  })
})

onEachEngine('a long list', api => {
  test('comes whole and in order of id, whatever its limit', async () => {
    const ids = await createCategories(api, LONG_LIST_ITEMS)
    const expected = new Map(ids.map(id => [id, { id, ...sample.category, products: [] }]))
    for (const limit of ['1000000000', '9007199254740991', String(LONG_LIST_ITEMS + 1)]) {
      const answer = await api.get(`/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=${limit}`)
      expect(answer.status, limit).toBe(200)
      expect(answer.headers.get('Content-Type'), limit).toBe('application/json')
      expect(answer.headers.get('Link'), limit).toBeNull()
      expect(idsOf(answer), limit).toEqual(ids)
      expect(answer.body, limit).toEqual([...expected.values()])
    }
  })

  test('is cut at its limit, with a link to the rest', async () => {
    const ids = await createCategories(api, LONG_LIST_ITEMS)
    const all = idsOf(await api.get('/categories/?limit=1000000000'))
    expect(all.slice(-ids.length)).toEqual(ids)
    const limit = LONG_LIST_ITEMS - 1_234
    const answer = await api.get(`/categories/?skip=${all.length - ids.length}&limit=${limit}`)
    expect(idsOf(answer)).toEqual(ids.slice(0, limit))
    expect(idsOf(await api.get(nextOf(answer) ?? ''))).toEqual(ids.slice(limit))
    const exact = await api.get(`/categories/?limit=${all.length}`)
    expect(exact.headers.get('Link')).toBeNull()
    expect(idsOf(exact)).toEqual(all)
  })

  test('of the products of one category comes whole, without a limit', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const ids = await createAll(api, `/products/${categoryId}/products`, 900, index => ({
      ...sample.product,
      price: index + 1,
    }))
    const answer = await api.get(`/products/${categoryId}/products`)
    expect(idsOf(answer)).toEqual(ids)
    expect(answer.headers.get('Link')).toBeNull()
  })

  test('of reviews comes whole, overall and by product, by user and by both', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, 900)
    const nested = [`/reviews/products/${productId}`, `/reviews/users/${userId}`]
    for (const path of [...nested, `/reviews/products/${productId}/users/${userId}`]) {
      expect(idsOf(await api.get(`${path}?limit=1000000000`)), path).toEqual(reviewIds)
    }
    const overall = await api.get(`/reviews/?after_id=${(reviewIds[0] ?? 0) - 1}&limit=1000000000`)
    expect(idsOf(overall)).toEqual(reviewIds)
  })

  test('comes whole where its items are heavy', async () => {
    const before = await api.create('/products/', sample.product)
    const ids = await createAll(api, '/products/', 40, index => ({
      ...sample.product,
      description: String(index % 10).repeat(300_000),
    }))
    const answer = await api.get(`/products/?after_id=${before}`)
    expect(idsOf(answer)).toEqual(ids)
    expect(answer.headers.get('Link')).toBeNull()
    const cut = await api.get(`/products/?after_id=${before}&limit=30`)
    expect(idsOf(cut)).toEqual(ids.slice(0, 30))
    expect(nextOf(cut)).toBe(`/products/?after_id=${ids[29]}&limit=30`)
  })

  test('comes whole where what its items embed is heavy', async () => {
    const userId = await api.create('/users/', sample.user)
    const productIds = await createAll(api, '/products/', 4, () => sample.product)
    for (const productId of productIds) {
      await createAll(api, '/reviews/', 40, () => ({
        ...sample.review(productId, userId),
        comment: String(productId % 10).repeat(60_000),
      }))
    }
    const answer = await api.get(`/products/?after_id=${(productIds[0] ?? 0) - 1}`)
    const products = z.array(z.object({ id: z.int(), reviews: Items })).parse(answer.body)
    expect(products.map(({ id, reviews }) => [id, reviews.length])).toEqual(productIds.map(id => [id, 40]))
  })

  test('has each item at most once and in order while others write', async () => {
    const ids = await createCategories(api, LONG_LIST_ITEMS)
    const before = (ids[0] ?? 0) - 1
    const response = await fetch(`${api.address()}/categories/?after_id=${before}&limit=1000000000`)
    const reader = startReading(response)
    let text = await reader.next()
    const [removed, kept] = [ids.filter((_, index) => index % 100 === 99), ids.filter((_, index) => index % 100 !== 99)]
    await Promise.all(removed.map(id => api.delete(`/categories/${id}`)))
    await createCategories(api, 50)
    for (let piece = await reader.next(); piece !== ''; piece = await reader.next()) text += piece
    const listed = Items.parse(JSON.parse(text)).map(({ id }) => id)
    expect(listed).toEqual(ascending([...new Set(listed)]))
    expect(listed).toEqual(expect.arrayContaining(kept))
  })

  test('can be left early by its reader, and the service goes on', async () => {
    const ids = await createCategories(api, LONG_LIST_ITEMS)
    const path = `/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=1000000000`
    for (let round = 0; round < 20; round += 1) {
      const abort = new AbortController()
      const response = await fetch(api.address() + path, { signal: abort.signal })
      const reader = startReading(response)
      expect(await reader.next()).toStartWith('[')
      abort.abort()
    }
    expect(idsOf(await api.get(path))).toEqual(ids)
    expect(await api.create('/categories/', sample.category)).toBeGreaterThan(ids.at(-1) ?? Number.POSITIVE_INFINITY)
  })

  test('is read whole by many readers at once', async () => {
    const ids = await createCategories(api, LONG_LIST_ITEMS)
    const path = `/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=1000000000`
    const lists = await Promise.all(Array.from({ length: 8 }, async () => idsOf(await api.get(path))))
    for (const list of lists) expect(list).toEqual(ids)
  })

  test('after a huge skip is its last items', async () => {
    const ids = await createCategories(api, LONG_LIST_ITEMS)
    const { length } = idsOf(await api.get('/categories/?limit=1000000000'))
    const answer = await api.get(`/categories/?skip=${length - 2}`)
    expect(idsOf(answer)).toEqual(ids.slice(-2))
    expect(answer.headers.get('Link')).toBeNull()
  })
})

onEachEngine('an embedded array', api => {
  test('has the first 100 items by id, in a list as in the resource', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS + 30)
    const categoryId = await api.create('/categories/', sample.category)
    const inCategory = await createAll(api, `/products/${categoryId}/products`, PAGE_ITEMS + 1, () => sample.product)
    for (const [path, id, member, ids] of [
      ['/products', productId, 'reviews', reviewIds],
      ['/users', userId, 'reviews', reviewIds],
      ['/categories', categoryId, 'products', inCategory],
    ] as const) {
      const one = await api.get(`${path}/${id}`)
      expect(embeddedIds(one.body, member), path).toEqual(ids.slice(0, PAGE_ITEMS))
      const [listed] = z.array(z.unknown()).parse((await api.get(`${path}/?after_id=${id - 1}&limit=1`)).body)
      expect(listed, path).toEqual(one.body)
    }
  })

  test('that was cut has a link to the rest from there on, which has it', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS + 3)
    const product = await api.get(`/products/${productId}`)
    expect(product.headers.get('Link')).toBe(`</reviews/products/${productId}?skip=100>; rel="more"`)
    expect(idsOf(await api.get(`/reviews/products/${productId}?skip=100`))).toEqual(reviewIds.slice(PAGE_ITEMS))
    const user = await api.get(`/users/${userId}`)
    expect(user.headers.get('Link')).toBe(`</reviews/users/${userId}?skip=100>; rel="more"`)
    expect(idsOf(await api.get(`/reviews/users/${userId}?skip=100`))).toEqual(reviewIds.slice(PAGE_ITEMS))
  })

  test('of a category that was cut has a link to the rest of its products, which has it', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const ids = await createAll(api, `/products/${categoryId}/products`, PAGE_ITEMS + 3, () => sample.product)
    const [, path] =
      /^<([^>]+)>; rel="more"$/.exec((await api.get(`/categories/${categoryId}`)).headers.get('Link') ?? '') ?? []
    expect(path).toStartWith(`/products/${categoryId}/products?`)
    expect(idsOf(await api.get(path ?? ''))).toEqual(ids.slice(PAGE_ITEMS))
  })

  test('of exactly 100 items is whole and leads nowhere', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS)
    for (const path of [`/products/${productId}`, `/users/${userId}`]) {
      const answer = await api.get(path)
      expect(embeddedIds(answer.body, 'reviews'), path).toEqual(reviewIds)
      expect(answer.headers.get('Link'), path).toBeNull()
    }
    await api.create('/reviews/', sample.review(productId, userId))
    expect((await api.get(`/products/${productId}`)).headers.get('Link')).toContain('rel="more"')
    await api.delete(`/reviews/${reviewIds[0]}`)
    expect((await api.get(`/products/${productId}`)).headers.get('Link')).toBeNull()
  })

  test('that was cut is so in the answers to an update and a delete too', async () => {
    const { productId, userId, reviewIds } = await reviewedProduct(api, PAGE_ITEMS + 1)
    const product = `</reviews/products/${productId}?skip=100>; rel="more"`
    const user = `</reviews/users/${userId}?skip=100>; rel="more"`
    for (const [answer, link] of [
      [await api.put(`/products/${productId}`, sample.product), product],
      [await api.patch(`/users/${userId}`, sample.user), user],
      [await api.delete(`/products/${productId}`), product],
    ] as const) {
      expect(embeddedIds(answer.body, 'reviews')).toEqual(reviewIds.slice(0, PAGE_ITEMS))
      expect(answer.headers.get('Link')).toBe(link)
    }
  })

  test('of a category that was cut is so in the answers to an update and a delete too', async () => {
    const categoryId = await api.create('/categories/', sample.category)
    const ids = await createAll(api, `/products/${categoryId}/products`, PAGE_ITEMS + 1, () => sample.product)
    const { headers } = await api.get(`/categories/${categoryId}`)
    expect(headers.get('Link')).toContain('rel="more"')
    for (const answer of [
      await api.put(`/categories/${categoryId}`, sample.category),
      await api.delete(`/categories/${categoryId}`),
    ]) {
      expect(embeddedIds(answer.body, 'products')).toEqual(ids.slice(0, PAGE_ITEMS))
      expect(answer.headers.get('Link')).toBe(headers.get('Link'))
    }
  })

  test('that was cut has no link in a list, where it would not say of which item', async () => {
    const { productId } = await reviewedProduct(api, PAGE_ITEMS + 1)
    const answer = await api.get(`/products/?after_id=${productId - 1}`)
    expect(idsOf(answer)).toContain(productId)
    expect(answer.headers.get('Link')).toBeNull()
  })

  test('that was cut does not shorten those of the items around it', async () => {
    const userId = await api.create('/users/', sample.user)
    const productIds = await createAll(api, '/products/', 4, () => sample.product)
    const counts = [2, PAGE_ITEMS + 40, 0, 3]
    for (const [index, productId] of productIds.entries()) {
      await createAll(api, '/reviews/', counts[index] ?? 0, () => sample.review(productId, userId))
    }
    const { body } = await api.get(`/products/?after_id=${(productIds[0] ?? 0) - 1}`)
    const products = z.array(z.unknown()).parse(body)
    expect(products.map(product => embeddedIds(product, 'reviews').length)).toEqual([2, PAGE_ITEMS, 0, 3])
  })
})

/** Creates that many at once; answers their ids in ascending order. */
async function createAll(
  api: Client,
  path: string,
  count: number,
  bodyOf: (index: number) => object,
): Promise<number[]> {
  return ascending(await Promise.all(Array.from({ length: count }, (_, index) => api.create(path, bodyOf(index)))))
}

function createCategories(api: Client, count: number): Promise<number[]> {
  return createAll(api, '/categories/', count, () => sample.category)
}

/** A product with so many reviews, all by one user. */
async function reviewedProduct(api: Client, reviews: number) {
  const productId = await api.create('/products/', sample.product)
  const userId = await api.create('/users/', sample.user)
  const reviewIds = await createAll(api, '/reviews/', reviews, () => sample.review(productId, userId))
  return { productId, userId, reviewIds }
}

function ascending(ids: readonly number[]): number[] {
  return [...ids].sort((one, other) => one - other)
}

function idsOf({ status, body }: Answer): number[] {
  expect(status).toBe(200)
  return Items.parse(body).map(({ id }) => id)
}

function embeddedIds(resource: unknown, member: 'products' | 'reviews'): number[] {
  return Items.parse(z.record(z.string(), z.unknown()).parse(resource)[member]).map(({ id }) => id)
}

/** The address of the page after this one; null when it is the last. */
function nextOf({ headers }: Answer): string | null {
  return /^<([^>]+)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1] ?? null
}

/** The ids of all pages from this one on. */
async function follow(api: Client, path: string): Promise<number[]> {
  const ids: number[] = []
  let next: string | null = path
  while (next !== null) {
    const answer: Answer = await api.get(next)
    ids.push(...idsOf(answer))
    next = nextOf(answer)
  }
  return ids
}

/** Reads a body piece by piece, so that one can stop in the midst of it. The end is an empty text. */
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
