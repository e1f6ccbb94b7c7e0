import { expect, setDefaultTimeout, test } from 'bun:test'
import { reviewedProduct } from '../../../../test/harness/catalog/created.ts'
import {
  ascending,
  createAll,
  createCategories,
  follow,
  idsOf,
  nextOf,
} from '../../../../test/harness/catalog/list-pages.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** The specification's default page, and the longest nested array. */
const PAGE_ITEMS = 100

onEachEngine('list pages', api => {
  test('a list has the first 100 items by default', async () => {
    const ids = await createCategories(api, PAGE_ITEMS + 20)
    const first = idsOf(await api.get('/categories/'))
    expect(first).toBeArrayOfSize(PAGE_ITEMS)
    expect(first).toEqual(idsOf(await api.get('/categories/?limit=1000000')).slice(0, PAGE_ITEMS))
    expect(first).toEqual(idsOf(await api.get(`/categories/?skip=0&limit=${PAGE_ITEMS}`)))
    expect(ids.length).toBeGreaterThan(PAGE_ITEMS)
  })

  test('a list is in ascending order of id, even if items were changed in another order', async () => {
    const ids = await createCategories(api, 12)
    for (const id of [...ids].reverse()) await api.put(`/categories/${id}`, { ...sample.category, name: `Shelf ${id}` })
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    expect(all).toEqual(ascending(all))
    expect(all).toEqual(expect.arrayContaining(ids))
  })

  test('a list leaves out the first skip items and has at most limit items', async () => {
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

  test('a list with skip alone has at most 100 items', async () => {
    await createCategories(api, PAGE_ITEMS + 5)
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    expect(idsOf(await api.get('/categories/?skip=2'))).toEqual(all.slice(2, 2 + PAGE_ITEMS))
  })

  test('a list with limit 0 is empty and has no next link', async () => {
    await createCategories(api, 2)
    for (const query of ['limit=0', 'limit=0&skip=1', 'limit=-0', 'limit=0&after_id=0']) {
      const answer = await api.get(`/categories/?${query}`)
      expect(answer.status, query).toBe(200)
      expect(answer.body, query).toEqual([])
      expect(answer.headers.get('Link'), query).toBeNull()
    }
  })

  test('a list is empty beyond its end, however far beyond', async () => {
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

  test('a list accepts any limit: one beyond exact integers acts as the largest', async () => {
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

  test('a list leaves out deleted items, and no other item takes their place', async () => {
    const ids = await createCategories(api, 5)
    const [first, second, third, fourth, fifth] = ids
    await api.delete(`/categories/${third}`)
    await api.delete(`/categories/${fifth}`)
    const afterwards = await createCategories(api, 1)
    const rest = idsOf(await api.get(`/categories/?after_id=${(first ?? 0) - 1}&limit=1000`))
    expect(rest).toEqual([first, second, fourth, ...afterwards].filter(id => id !== undefined))
    expect(afterwards[0]).toBeGreaterThan(fifth ?? Number.POSITIVE_INFINITY)
  })

  test('a list that limit cuts short has a next link with the skip and limit of the next page', async () => {
    await createCategories(api, PAGE_ITEMS + 20)
    expect((await api.get('/categories/?skip=3&limit=4')).headers.get('Link')).toBe(
      '</categories/?skip=7&limit=4>; rel="next"',
    )
    expect((await api.get('/categories/?limit=4')).headers.get('Link')).toBe(
      '</categories/?skip=4&limit=4>; rel="next"',
    )
    expect((await api.get('/categories/')).headers.get('Link')).toBe('</categories/?skip=100&limit=100>; rel="next"')
  })

  test('a list that is complete has no next link', async () => {
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

  test('the next link of a list keeps the other query parameters of the request', async () => {
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
    for (const colour of ['red', 'blue']) {
      const again = await api.get(`/categories/?skip=1&limit=1&colour=${colour}`)
      expect(nextOf(again)).toBe(`/categories/?skip=2&limit=1&colour=${colour}`)
    }
  })

  test('the next link of a list is relative, whatever host the client called', async () => {
    await createCategories(api, 2)
    const headers = { Host: 'shop.example', 'X-Forwarded-Host': 'inner.example', 'X-Forwarded-Proto': 'https' }
    const answer = await api.get('/categories/?limit=1', headers)
    expect(answer.headers.get('Link')).toBe('</categories/?skip=1&limit=1>; rel="next"')
  })

  test('following the next links leads through the whole list', async () => {
    await createCategories(api, 25)
    const all = idsOf(await api.get('/categories/?limit=1000000'))
    expect(await follow(api, '/categories/?limit=7')).toEqual(all)
    expect(await follow(api, '/categories/?limit=7&after_id=0')).toEqual(all)
  })

  test('every list that takes limit has next links', async () => {
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

  test('after_id gives only the items with a greater id', async () => {
    const ids = await createCategories(api, 6)
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&limit=1000`))).toEqual(ids.slice(3))
    expect(idsOf(await api.get(`/categories/?after_id=${ids[5]}`))).toEqual([])
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&limit=2`))).toEqual(ids.slice(3, 5))
    expect(idsOf(await api.get(`/categories/?after_id=${ids[2]}&skip=1&limit=1`))).toEqual(ids.slice(4, 5))
  })

  test('a list after an id has next links with after_id, without skip', async () => {
    const ids = await createCategories(api, 6)
    const answer = await api.get(`/categories/?after_id=${ids[1]}&limit=2`)
    expect(answer.headers.get('Link')).toBe(`</categories/?after_id=${ids[3]}&limit=2>; rel="next"`)
    expect((await api.get(`/categories/?after_id=${ids[3]}&limit=2`)).headers.get('Link')).toBeNull()
  })

  test('after_id misses nothing when an earlier item is deleted between two pages', async () => {
    const ids = await createCategories(api, 6)
    const first = await api.get(`/categories/?after_id=${(ids[0] ?? 0) - 1}&limit=3`)
    expect(idsOf(first)).toEqual(ids.slice(0, 3))
    await api.delete(`/categories/${ids[0]}`)
    expect(idsOf(await api.get(nextOf(first) ?? ''))).toEqual(ids.slice(3))
  })

  test('after_id may be the id of an item that is deleted or never existed', async () => {
    const ids = await createCategories(api, 4)
    await api.delete(`/categories/${ids[1]}`)
    expect(idsOf(await api.get(`/categories/?after_id=${ids[1]}`))).toEqual(ids.slice(2))
    for (const after of ['9007199254740991', '9223372036854775808', '9'.repeat(400)]) {
      expect((await api.get(`/categories/?after_id=${after}`)).body, after).toEqual([])
    }
  })

  test('after_id is refused if it is negative or not an integer', async () => {
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

  test('every list takes after_id, including the products of a category', async () => {
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
