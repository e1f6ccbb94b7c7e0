import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { z } from 'zod'
import { createAll, follow, idsOf, nextOf } from '../../../../test/harness/catalog/list-pages.ts'
import { stock } from '../../../../test/harness/catalog/stocked-shop.ts'
import { at, expectRefusal, type Fault } from '../../../../test/harness/catalog/validation-errors.ts'
import type { Client } from '../../../../test/harness/client.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

const notACursor: Fault = { type: 'value_error', msg: 'Value error, not a cursor of this list' }
const CURSOR_MAX_CHARACTERS = 700

const Parts = z.tuple([z.literal(1), z.int()]).rest(z.union([z.string(), z.number()]))

onEachEngine('cursors', api => {
  beforeAll(() => stock(api))

  test('a cursor has the format, a hash of the list, and the sort key and id of the last item', async () => {
    const rows: readonly (readonly [path: string, place: readonly (string | number)[]])[] = [
      ['/products/?sort=id', [2]],
      ['/products/?sort=-id', [7]],
      ['/products/?sort=price', [3, 4]],
      ['/products/?sort=name', ['eclair', 5]],
      ['/products/?sort=-reviews', [2, 1]],
      ['/products/?sort=-rating', [27 / 8, 6]],
      ['/products/?q=spade&limit=1', [3, 1]],
      ['/products/?q=stock', [1, 2]],
      ['/products/?min_price=3', [2]],
      ['/users/?sort=name', ['grace', 1]],
      ['/categories/?count=5', [2]],
      ['/reviews/products/6?sort=-rating', [4, 6]],
    ]
    for (const [path, place] of rows) {
      const cursor = await cursorOf(api, path.includes('limit') ? path : `${path}&limit=2`)
      expect(cursor, path).toMatch(/^[\w-]+$/)
      const [format, hash, ...of] = partsOf(cursor)
      expect(format, path).toBe(1)
      expect(hash >= 0 && hash < 2 ** 32, path).toBe(true)
      expect(of, path).toEqual([...place])
    }
  })

  test('the longest cursor has at most 700 characters, and leads on', async () => {
    for (const character of ['é', '😀', '"', '\\', '\u0001', '\u2028', '\u0301', '\ufdfa']) {
      const name = character.repeat(50)
      for (let count = 0; count < 2; count += 1) await api.create('/products/', { ...sample.product, name, price: 777 })
      const list = '/products/?min_price=777&max_price=777&sort=name'
      const cursor = await cursorOf(api, `${list}&limit=1`)
      expect(cursor.length, character).toBeLessThanOrEqual(CURSOR_MAX_CHARACTERS)
      const ids = idsOf(await api.get(list))
      expect(await follow(api, `${list}&limit=1`), character).toEqual(ids)
      for (const id of ids) await api.delete(`/products/${id}`)
    }
  })

  test('a cursor is bound to the values of filters, q and sort, not to how they are written', async () => {
    const cursor = await cursorOf(api, '/products/?category_id=0,1,3&min_price=2.5&q=Stock&sort=price&limit=2')
    const same = [
      'category_id=3&category_id=1,0&min_price=2.50&q=Stock&sort=price',
      'sort=price&q=Stock&min_price=25e-1&category_id=%2B3,1,0,0,1',
      'category_id=0,1,3&min_price=2.5&q=Stock&sort=price&limit=5&fields=id&count=7&utm=x',
    ]
    const [expected] = await Promise.all(same.map(query => api.get(`/products/?cursor=${cursor}&${query}`)))
    for (const query of same) {
      const { body } = await api.get(`/products/?cursor=${cursor}&${query}&fields=id&limit=5`)
      expect(body, query).toEqual(idsOf(expected ?? (await api.get('/'))).map(id => ({ id })))
    }
    const byId = await cursorOf(api, '/products/?count=9&limit=3')
    for (const query of ['', 'sort=id', 'q=', 'q=!!!&sort=relevance']) {
      expect(idsOf(await api.get(`/products/?cursor=${byId}&${query}`)), query).toEqual([4, 5, 6, 7, 8])
    }
  })

  test('a cursor of another selection or list is refused', async () => {
    const cursor = await cursorOf(api, '/products/?category_id=0,1&min_price=2.5&sort=price&limit=2')
    const others = [
      '/products/?',
      '/products/?category_id=0,1&min_price=2.5',
      '/products/?category_id=0,1&min_price=2.5&sort=-price',
      '/products/?category_id=0,1&min_price=2.5&sort=rating',
      '/products/?category_id=0,1,2&min_price=2.5&sort=price',
      '/products/?category_id=0,1&min_price=2.51&sort=price',
      '/products/?category_id=0,1&max_price=2.5&sort=price',
      '/products/?category_id=0,1&min_price=2.5&sort=price&q=stock',
      '/products/?category_id=0,1&min_price=2.5&sort=price&max_price=1000',
      '/categories/?',
      '/reviews/products/1?sort=rating',
    ]
    for (const path of others) await isRefused(api, `${path}&cursor=${cursor}`)
    const ofProduct = await cursorOf(api, '/reviews/products/6?sort=rating&limit=1')
    await isRefused(api, `/reviews/products/1?sort=rating&cursor=${ofProduct}`)
    const ofCategories = await cursorOf(api, '/categories/?count=9&limit=1')
    for (const path of ['/products/', '/users/', '/reviews/', '/reviews/users/1']) {
      await isRefused(api, `${path}?cursor=${ofCategories}`)
    }
    await isRefused(api, `/products/?q=rake&cursor=${await cursorOf(api, '/products/?q=spade&limit=1')}`)
  })

  test('a cursor that was tampered with is refused, or is one of the same list', async () => {
    const lists = ['sort=price', 'sort=name', 'sort=reviews', 'sort=-rating', 'q=stock', 'sort=id', 'q=stock&sort=id']
    for (const list of lists) {
      const [format, hash, ...place] = partsOf(await cursorOf(api, `/products/?${list}&limit=2`))
      const wrong: unknown[][] = [
        [format + 1, hash, ...place],
        [format, hash + 1, ...place],
        [format, hash],
        [format, hash, ...place, 1],
        [format, hash, ...place.slice(0, -1)],
        [format, hash, ...place.slice(0, -1), 1.5],
        [format, hash, ...place.slice(0, -1), '1'],
        [format, hash, ...place.slice(0, -1), 2 ** 53],
        [format, hash, ...place.slice(0, -1), null],
      ]
      if (place.length > 1) {
        const isText = typeof place[0] === 'string'
        const keys = isText ? [1, null, '\0', '\ud800', ['a'], {}] : ['1', null, true, [1], {}]
        for (const key of keys) wrong.push([format, hash, key, ...place.slice(1)])
      }
      if (list === 'sort=reviews' || list === 'q=stock') wrong.push([format, hash, 1.5, ...place.slice(1)])
      for (const parts of wrong) await isRefused(api, `/products/?${list}&cursor=${encoded(JSON.stringify(parts))}`)
      const infinite = JSON.stringify([format, hash, ...place]).replace(/,[^,]+,(\d+)\]$/, ',1e999,$1]')
      if (place.length > 1) await isRefused(api, `/products/?${list}&cursor=${encoded(infinite)}`)
      const last = JSON.stringify([format, hash, ...place]).replace(/,\d+\]$/, ',1e999]')
      await isRefused(api, `/products/?${list}&cursor=${encoded(last)}`)
      for (const id of [-1, 0, Number.MAX_SAFE_INTEGER]) {
        const moved = encoded(JSON.stringify([format, hash, ...place.slice(0, -1), id]))
        expect((await api.get(`/products/?${list}&cursor=${moved}`)).status, list).toBe(200)
      }
    }
  })

  test('a rating of a cursor that no column can have is refused', async () => {
    for (const sort of ['rating', '-rating']) {
      const list = `/reviews/products/6?sort=${sort}`
      const [format, hash, , id] = partsOf(await cursorOf(api, `${list}&limit=1`))
      const at = (rating: unknown) => `${list}&cursor=${encoded(JSON.stringify([format, hash, rating, id]))}`
      for (const rating of [99_999, -99_999, 32_768, Number.MAX_SAFE_INTEGER, 1.5, '4'])
        await isRefused(api, at(rating))
      for (const rating of [-1, 0, 6, 32_767]) expect((await api.get(at(rating))).status, sort).toBe(200)
    }
  })

  test('any text for a cursor is answered with 422 or with a page, never with a failure', async () => {
    const good = await cursorOf(api, '/products/?sort=name&limit=2')
    for (const around of ['.', '+', ' ', '=']) {
      await isRefused(api, `/products/?sort=name&cursor=${encodeURIComponent(good + around)}`)
    }
    const text = fc.oneof(
      fc.string(),
      fc
        .array(fc.oneof(fc.string(), fc.double(), fc.integer(), fc.constant(null)))
        .map(parts => encoded(JSON.stringify(parts))),
      fc
        .nat({ max: good.length - 1 })
        .map(place => good.slice(0, place) + (good[place] === 'A' ? 'B' : 'A') + good.slice(place + 1)),
    )
    await fc.assert(
      fc.asyncProperty(text, async cursor => {
        const { status } = await api.get(`/products/?sort=name&cursor=${encodeURIComponent(cursor)}`)
        expect([200, 422]).toContain(status)
      }),
      { numRuns: 60 },
    )
  })

  test('a cursor leads on after the item that it names was changed or deleted', async () => {
    const price = (index: number) => ({ ...sample.product, price: 500 + index })
    const ids = await createAll(api, '/products/', 1, () => price(0))
    for (const index of [1, 2, 3, 4]) ids.push(await api.create('/products/', price(index)))
    const [, second = 0, third, fourth, fifth] = ids
    const list = '/products/?min_price=500&below_price=600&sort=price'
    const cursor = await cursorOf(api, `${list}&limit=2`)
    const rest = async () => idsOf(await api.get(`${list}&cursor=${cursor}`))
    expect(await rest()).toEqual([third, fourth, fifth].map(Number))
    await api.put(`/products/${second}`, price(50))
    expect(await rest()).toEqual([third, fourth, fifth, second].map(Number))
    await api.delete(`/products/${second}`)
    expect(await rest()).toEqual([third, fourth, fifth].map(Number))
    const later = await api.create('/products/', price(2.5))
    expect(await rest()).toEqual([third, later, fourth, fifth].map(Number))
    for (const id of [third, later, fourth, fifth]) await api.delete(`/products/${id}`)
    const end = await api.get(`${list}&cursor=${cursor}`)
    expect(end.body).toEqual([])
    expect(end.headers.get('Link')).toBeNull()
  })

  test('a cursor has a price exactly', async () => {
    const prices = [5e-324, 0.1, 0.1 + 0.2, 1 / 3, 2 ** 53 + 2, 1.7976931348623157e308]
    const ids: number[] = []
    for (const price of prices)
      ids.push(await api.create('/products/', { ...sample.product, name: 'Exact one', price }))
    expect(await follow(api, '/products/?q=exact&sort=price&limit=1')).toEqual(ids)
    expect(await follow(api, '/products/?q=exact&sort=-price&limit=1')).toEqual([...ids].reverse())
    for (const [place, price] of prices.entries()) {
      const list = `/products/?q=exact&min_price=${encodeURIComponent(price)}&max_price=${encodeURIComponent(price)}`
      expect(idsOf(await api.get(list)), String(price)).toEqual(ids.slice(place, place + 1))
    }
    for (const id of ids) await api.delete(`/products/${id}`)
  })

  test('pages of any size lead through the whole of each order', async () => {
    for (const query of ['sort=name', 'sort=-price', 'sort=rating', 'sort=-reviews', 'q=s', 'category_id=0,1,2']) {
      const all = idsOf(await api.get(`/products/?${query}`))
      for (const limit of [1, 2, 3, 5])
        expect(await follow(api, `/products/?${query}&limit=${limit}`), query).toEqual(all)
    }
    for (const query of ['sort=rating', 'sort=-rating', 'rating=3,5']) {
      const all = idsOf(await api.get(`/reviews/products/6?${query}`))
      expect(await follow(api, `/reviews/products/6?${query}&limit=1`), query).toEqual(all)
    }
  })
})

async function cursorOf(api: Client, path: string): Promise<string> {
  const cursor = new URL(nextOf(await api.get(path)) ?? '', 'http://shop.example').searchParams.get('cursor')
  if (cursor === null) throw new Error(`${path} has no cursor`)
  return cursor
}

function partsOf(cursor: string) {
  return Parts.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}

async function isRefused(api: Client, path: string): Promise<void> {
  expectRefusal(await api.get(path), [at(['query', 'cursor'], notACursor)], path)
}
