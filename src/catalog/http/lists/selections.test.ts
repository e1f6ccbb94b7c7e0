import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { follow, idsOf, nextOf } from '../../../../test/harness/catalog/list-pages.ts'
import { CATEGORY_NAMES, REVIEWS, STOCK, stock } from '../../../../test/harness/catalog/stocked-shop.ts'
import type { Client } from '../../../../test/harness/client.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** The parameters of all operations, in the order in which errors name them. */
const PARAMETERS = [
  ...['q', 'id', 'category_id', 'min_price', 'max_price', 'below_price', 'min_rating', 'product_id', 'user_id'],
  ...['rating', 'sort', 'cursor', 'count', 'fields', 'skip', 'limit', 'after_id'],
]
const PAGES = ['skip', 'limit', 'after_id']
const OF_ALL = ['sort', 'cursor', 'count', 'fields', ...PAGES]
const OF_PRODUCTS = ['q', 'id', 'category_id', 'min_price', 'max_price', 'below_price', 'min_rating']

const STRICT = { Prefer: 'handling=strict' }
const TOTAL = 'X-Total-Count'

onEachEngine('selections', api => {
  beforeAll(() => stock(api))

  test('each list and single read takes the parameters of its row, and no other', async () => {
    const taken: Readonly<Record<string, readonly string[]>> = {
      '/products/': [...OF_PRODUCTS, ...OF_ALL],
      '/categories/': ['q', 'id', ...OF_ALL],
      '/users/': ['q', 'id', ...OF_ALL],
      '/reviews/': ['product_id', 'user_id', 'rating', ...OF_ALL],
      '/reviews/products/1': ['rating', ...OF_ALL],
      '/reviews/users/1': ['rating', ...OF_ALL],
      '/products/1/products': ['fields', 'after_id'],
      '/reviews/products/1/users/1': ['fields', ...PAGES],
      '/products/1': ['fields'],
      '/categories/1': ['fields'],
      '/users/1': ['fields'],
      '/reviews/1': ['fields'],
      '/ratings/products/1': [],
    }
    const query = PARAMETERS.map(name => `${name}=1`).join('&')
    for (const [path, names] of Object.entries(taken)) {
      const refused = detailOf(await api.get(`${path}?${query}`, STRICT))
        .filter(({ type }) => type === 'extra_forbidden')
        .map(({ loc }) => String(loc[1]))
      const others = PARAMETERS.filter(name => !names.includes(name))
      expect(refused, path).toEqual(others)
    }
  })

  test('an operation ignores a parameter that only others have, whatever its value', async () => {
    const foreign = 'q=zzz&id=x&category_id=x&min_price=x&max_price=-1&below_price=x&min_rating=9'
    expect(await ids(api, `/reviews/?${foreign}`)).toEqual(REVIEWS.map(({ id }) => id))
    const whole = 'product_id=x&user_id=x&rating=9&sort=x&cursor=x&count=0'
    expect(await ids(api, `/products/1/products?${foreign}&${whole}&skip=x&limit=x`)).toEqual([1, 2, 7])
    expect(await ids(api, `/reviews/products/1/users/1?${foreign}&${whole}`)).toEqual([1])
    expect((await api.get(`/products/1?${foreign}&${whole}&skip=x&limit=x&after_id=x`)).status).toBe(200)
    expect(await ids(api, `/reviews/products/1?product_id=2&user_id=2&limit=10`)).toEqual([1, 2])
  })

  test('without a parameter of theirs, lists have the headers of before', async () => {
    const plain = await api.get('/products/?limit=2&utm_source=x')
    expect(plain.headers.get('Link')).toBe('</products/?skip=2&limit=2&utm_source=x>; rel="next"')
    for (const name of [TOTAL, 'Preference-Applied']) expect(plain.headers.get(name), name).toBeNull()
    const selection = await api.get('/products/?limit=2&sort=id')
    expect(selection.body).toEqual(plain.body)
    expect(selection.headers.get('ETag')).toBe(plain.headers.get('ETag'))
  })

  test('ids select items, in any order; unknown, negative and repeated ones add nothing', async () => {
    expect(await ids(api, '/products/?id=7,1,4')).toEqual([1, 4, 7])
    expect(await ids(api, '/products/?id=7,7,-1,0,999,9007199254740993')).toEqual([7])
    expect(await ids(api, '/categories/?id=2,3')).toEqual([2, 3])
    expect(await ids(api, '/users/?id=3')).toEqual([3])
    expect(await ids(api, '/users/?id=999')).toEqual([])
  })

  test('a list of values has commas, or repeats the parameter, or both', async () => {
    for (const query of ['id=1,3,8', 'id=1&id=3&id=8', 'id=1,3&id=8', 'id=1%2C3&id=%2B8', 'id=8&limit=9&id=3,1']) {
      expect(await ids(api, `/products/?${query}`), query).toEqual([1, 3, 8])
    }
    expect(await ids(api, '/reviews/?rating=4&rating=1,3')).toEqual(
      reviewIds(({ rating }) => [1, 3, 4].includes(rating)),
    )
  })

  test('of another parameter that is given twice, the last counts', async () => {
    expect(await ids(api, '/products/?min_price=1000&min_price=50')).toEqual([7])
    expect((await ids(api, '/products/?sort=id&sort=-id'))[0]).toBe(8)
    expect((await api.get('/products/?count=1&count=5')).headers.get(TOTAL)).toBe('5')
    expect(await ids(api, '/products/?q=rake&q=ladle')).toEqual([4])
  })

  test('lists take as many values as they may', async () => {
    const upTo = (most: number) => Array.from({ length: most }, (_, index) => index + 1).join()
    expect(await ids(api, `/products/?id=${upTo(100)}`)).toHaveLength(STOCK.length)
    expect(await ids(api, `/products/?category_id=${upTo(50)}`)).toEqual([1, 2, 3, 5, 7, 8])
    expect(await ids(api, `/reviews/?product_id=${upTo(50)}&user_id=${upTo(50)}&rating=1,2,3,4,5`)).toHaveLength(
      REVIEWS.length,
    )
  })

  test('categories select products; 0 stands for products without one', async () => {
    expect(await ids(api, '/products/?category_id=1')).toEqual([1, 2, 7])
    expect(await ids(api, '/products/?category_id=3,2')).toEqual([3, 5, 8])
    expect(await ids(api, '/products/?category_id=0')).toEqual([4, 6])
    expect(await ids(api, '/products/?category_id=0,3,-5,4711')).toEqual([4, 6, 8])
    expect(await ids(api, '/products/?category_id=4711')).toEqual([])
  })

  test('prices select products: at least, at most, less than', async () => {
    expect(await ids(api, '/products/?min_price=10')).toEqual([1, 2, 6, 7])
    expect(await ids(api, '/products/?max_price=7.5')).toEqual([3, 4, 5, 8])
    expect(await ids(api, '/products/?below_price=7.5')).toEqual([4, 5])
    expect(await ids(api, '/products/?min_price=7.5&below_price=10')).toEqual([3, 8])
    expect(await ids(api, '/products/?min_price=7.5&max_price=10')).toEqual([1, 2, 3, 6, 8])
    expect(await ids(api, '/products/?min_price=50&max_price=5')).toEqual([])
    expect(await ids(api, '/products/?min_price=0&max_price=1e300')).toHaveLength(STOCK.length)
  })

  test('numbers are written as in JSON, with an optional plus', async () => {
    for (const number of ['10', '%2B10', '10.0', '1e1', '1E%2B1', '100e-1']) {
      expect(await ids(api, `/products/?min_price=${number}&max_price=${number}`), number).toEqual([1, 2, 6])
    }
    expect(await ids(api, '/products/?below_price=-0')).toEqual([])
  })

  test('min_rating looks at the plain average, and selects no product without reviews', async () => {
    expect(await ids(api, '/products/?min_rating=1')).toEqual([1, 2, 3, 6, 8])
    expect(await ids(api, '/products/?min_rating=4')).toEqual([1, 2, 6, 8])
    expect(await ids(api, '/products/?min_rating=4.01')).toEqual([1])
    expect(await ids(api, '/products/?min_rating=5')).toEqual([1])
  })

  test('products, users and ratings select reviews', async () => {
    expect(await ids(api, '/reviews/?product_id=6,1')).toEqual(reviewIds(({ product }) => [1, 6].includes(product)))
    expect(await ids(api, '/reviews/?user_id=2')).toEqual(reviewIds(({ user }) => user === 2))
    expect(await ids(api, '/reviews/?rating=4,5')).toEqual(reviewIds(({ rating }) => rating >= 4))
    expect(await ids(api, '/reviews/?product_id=6&user_id=2,3&rating=4')).toEqual(
      reviewIds(({ product, user, rating }) => product === 6 && user >= 2 && rating === 4),
    )
    expect(await ids(api, '/reviews/products/6?rating=3,5')).toEqual(
      reviewIds(({ product, rating }) => product === 6 && rating !== 4),
    )
    expect(await ids(api, '/reviews/users/1?rating=5')).toEqual(
      reviewIds(({ user, rating }) => user === 1 && rating === 5),
    )
    expect(await ids(api, '/reviews/?product_id=999,-1')).toEqual([])
  })

  test('filters are combined with and', async () => {
    expect(await ids(api, '/products/?id=1,2,3,8&category_id=1,2&min_price=7.5&max_price=50&min_rating=2')).toEqual([
      1, 2,
    ])
    expect(await ids(api, '/products/?q=toy&category_id=0')).toEqual([6])
    expect(await ids(api, '/categories/?q=shelf&id=1,6,7')).toEqual([6, 7])
  })

  test('q without a word filters nothing', async () => {
    for (const q of ['', '!!!', '%00', '%F0', '+'])
      expect(await ids(api, `/products/?q=${q}`), q).toHaveLength(STOCK.length)
    expect(await ids(api, '/users/?q=grace')).toEqual([1, 3])
    expect(await ids(api, `/products/?q=${'%F0%9F%98%80'.repeat(200)}`)).toHaveLength(STOCK.length)
  })

  test('each sort has its order; ties are broken by id, and a minus reverses all of it', async () => {
    const orders: readonly (readonly [path: string, sort: string, ids: readonly number[]])[] = [
      ['/products/', 'id', [1, 2, 3, 4, 5, 6, 7, 8]],
      ['/products/', 'name', [8, 5, 4, 3, 1, 2, 7, 6]],
      ['/products/', 'price', [5, 4, 3, 8, 1, 2, 6, 7]],
      ['/products/', 'rating', [4, 5, 7, 3, 2, 8, 6, 1]],
      ['/products/', 'reviews', [4, 5, 7, 2, 3, 8, 1, 6]],
      ['/users/', 'id', [1, 2, 3]],
      ['/users/', 'name', [2, 1, 3]],
      ['/categories/', 'name', categoriesByName()],
      ['/categories/', 'id', CATEGORY_NAMES.map((_, index) => index + 1)],
      ['/reviews/products/6', 'rating', reviewIds(({ product }) => product === 6)],
      ['/reviews/products/1', 'rating', [1, 2]],
      ['/reviews/', 'id', REVIEWS.map(({ id }) => id)],
      ['/reviews/users/1', 'id', reviewIds(({ user }) => user === 1)],
    ]
    for (const [path, sort, expected] of orders) {
      expect(await ids(api, `${path}?sort=${sort}&limit=1000`), path + sort).toEqual(expected.slice(0, 1_000))
      const reversed = [...expected].reverse().slice(0, 1_000)
      expect(await ids(api, `${path}?sort=-${sort}&limit=1000`), `${path}-${sort}`).toEqual(reversed)
    }
  })

  test('relevance is the default with a word in q; without one it is id', async () => {
    expect(await ids(api, '/products/?q=of+stock')).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(await ids(api, '/products/?q=s')).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(await ids(api, '/products/?q=e')).toEqual(await ids(api, '/products/?q=e&sort=relevance'))
    expect(await ids(api, '/products/?q=toy&sort=-price')).toEqual([7, 6])
    for (const q of ['', '?q=', '?q=!!', '?q=!!&sort=relevance', '?sort=relevance']) {
      expect(await ids(api, `/products/${q}`), q).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    }
    expect(await ids(api, '/categories/?sort=relevance&limit=3')).toEqual([1, 2, 3])
  })

  test('a selection is continued by a cursor: page parameters first, then the others as they were sent', async () => {
    const answer = await api.get(
      '/products/?q=s&utm=a%26b&limit=3&category_id=0,1&sort=price&category_id=2,3&q=of+stock',
    )
    expect(idsOf(answer)).toEqual([5, 4, 3])
    const cursor = cursorOf(answer)
    const others = 'q=s&utm=a%26b&category_id=0%2C1&sort=price&category_id=2%2C3&q=of+stock'
    expect(answer.headers.get('Link')).toBe(`</products/?cursor=${cursor}&limit=3&${others}>; rel="next"`)
    const second = await api.get(nextOf(answer) ?? '')
    expect(idsOf(second)).toEqual([8, 1, 2])
    expect(second.headers.get('Link')).toBe(`</products/?cursor=${cursorOf(second)}&limit=3&${others}>; rel="next"`)
    const last = await api.get(nextOf(second) ?? '')
    expect(idsOf(last)).toEqual([6, 7])
    expect(last.headers.get('Link')).toBeNull()
  })

  test('each of q, a filter, sort, cursor and count makes a selection, whatever its value', async () => {
    for (const parameter of [
      'q=',
      'id=1,2',
      'min_price=0',
      'max_price=50',
      'below_price=99',
      'min_rating=1',
      'sort=id',
    ]) {
      const { headers } = await api.get(`/products/?limit=1&${parameter}`)
      expect(headers.get('Link'), parameter).toContain('</products/?cursor=')
    }
    expect((await api.get('/products/?limit=1&count=1')).headers.get('Link')).toContain('?cursor=')
    expect((await api.get('/reviews/products/6?limit=1&rating=3,4')).headers.get('Link')).toContain('?cursor=')
    expect((await api.get('/products/?limit=1&fields=id')).headers.get('Link')).toBe(
      '</products/?skip=1&limit=1&fields=id>; rel="next"',
    )
  })

  test('a selection with skip is continued by skip', async () => {
    const answer = await api.get('/products/?sort=-price&skip=1&limit=3')
    expect(idsOf(answer)).toEqual([6, 2, 1])
    expect(answer.headers.get('Link')).toBe('</products/?skip=4&limit=3&sort=-price>; rel="next"')
    expect(await follow(api, '/products/?sort=-price&skip=0&limit=3')).toEqual([7, 6, 2, 1, 8, 3, 4, 5])
    expect(await ids(api, '/products/?sort=name&skip=8')).toEqual([])
    expect(await ids(api, '/products/?q=of+stock&skip=9007199254740991')).toEqual([])
    expect(await ids(api, '/products/?category_id=0,1&skip=2&limit=2')).toEqual([4, 6])
  })

  test('skip counts over the ranks of a search', async () => {
    const all = await ids(api, '/products/?q=s')
    for (const skip of all.keys())
      expect(await ids(api, `/products/?q=s&skip=${skip}&limit=3`)).toEqual(all.slice(skip, skip + 3))
    const ranked = await ids(api, '/products/?q=toy')
    expect(ranked).toEqual([6, 7])
    expect(await ids(api, '/products/?q=toy&skip=1')).toEqual([7])
  })

  test('after_id continues a selection in the order of ids', async () => {
    const answer = await api.get('/products/?after_id=1&limit=2&min_price=7.5&sort=id')
    expect(idsOf(answer)).toEqual([2, 3])
    expect(answer.headers.get('Link')).toBe('</products/?after_id=3&limit=2&min_price=7.5&sort=id>; rel="next"')
    expect(await follow(api, '/products/?after_id=0&limit=2&min_price=7.5')).toEqual([1, 2, 3, 6, 7, 8])
    expect(await follow(api, '/products/?after_id=0&limit=1&q=toy&sort=id')).toEqual([6, 7])
    expect(await ids(api, '/products/?after_id=5&q=!!')).toEqual([6, 7, 8])
    expect(await ids(api, '/products/?after_id=5&sort=relevance')).toEqual([6, 7, 8])
    expect(await ids(api, '/products/?after_id=2&skip=1&category_id=0,1')).toEqual([6, 7])
  })

  test('limit 0 is an empty list without a Link', async () => {
    for (const query of ['sort=price', 'q=spade', 'min_price=1', 'count=5', 'sort=name&skip=2', 'id=1&after_id=0']) {
      const answer = await api.get(`/products/?limit=0&${query}`)
      expect(answer.body, query).toEqual([])
      expect(answer.headers.get('Link'), query).toBeNull()
    }
    expect((await api.get('/products/?limit=0&count=5')).headers.get(TOTAL)).toBe('5')
  })

  test('a page of a selection has 100 items by default and 1,000 at most, all of them in order', async () => {
    const all = categoriesByName()
    expect(await ids(api, '/categories/?sort=name')).toEqual(all.slice(0, 100))
    for (const limit of [200, 201, 1_000]) {
      const answer = await api.get(`/categories/?sort=name&limit=${limit}`)
      expect(idsOf(answer), String(limit)).toEqual(all.slice(0, limit))
      expect(nextOf(answer), String(limit)).not.toBeNull()
    }
    expect(await follow(api, '/categories/?sort=name&limit=1000')).toEqual(all)
    expect(await follow(api, '/categories/?sort=-name&limit=335')).toEqual([...all].reverse())
    expect(await ids(api, '/categories/?skip=0&limit=1001')).toHaveLength(1_001)
    const shelves = await api.get('/categories/?q=shelf+&limit=1000')
    expect(idsOf(shelves)).toHaveLength(1_000)
    expect(nextOf(shelves)).toBeNull()
  })

  test('a page of long texts is whole, in its order, with its Link and count', async () => {
    const description = 'heavy '.repeat(80_000)
    const heavy: number[] = []
    for (const price of [4, 1, 3, 2, 5])
      heavy.push(await api.create('/products/', { name: 'Heavy', description, price }))
    const [four, one, three, two] = heavy
    const answer = await api.get('/products/?q=heavy&sort=price&limit=4&count=9')
    expect(idsOf(answer)).toEqual([one, two, three, four].map(Number))
    expect(answer.headers.get(TOTAL)).toBe('5')
    expect(idsOf(await api.get(nextOf(answer) ?? ''))).toEqual(heavy.slice(4))
    const highlighted = await api.get('/products/?q=heavy&sort=-price&fields=id,description,highlights')
    expect(idsOf(highlighted)).toEqual([4, 0, 2, 3, 1].map(place => heavy[place] ?? 0))
    for (const id of heavy) await api.delete(`/products/${id}`)
  })

  test('a page from which items are deleted while it is made has all others, and its Link still leads on', async () => {
    const description = '. '.repeat(100_000)
    const made: number[] = []
    for (let price = 300; price < 330; price += 1) {
      made.push(await api.create('/products/', { name: 'Long text', description, price }))
    }
    const list = '/products/?min_price=300&below_price=1000&sort=-price&count=99'
    // Compressed, the whole page would be on its way before the client reads any of it.
    const response = await fetch(`${api.address()}${list}&limit=25`, { headers: { 'Accept-Encoding': 'identity' } })
    // More than are read at a time.
    const deleted = made.slice(5, 17)
    for (const id of deleted) await api.delete(`/products/${id}`)
    const { headers } = response
    const shown = idsOf({ status: response.status, headers, body: await response.json() })
    const whole = made.slice(5).reverse()
    expect(whole).toEqual(expect.arrayContaining(shown))
    expect(shown).toEqual(whole.filter(id => shown.includes(id)))
    expect(shown.filter(id => !deleted.includes(id))).toEqual(whole.filter(id => !deleted.includes(id)))
    expect(headers.get(TOTAL)).toBe('30')
    const next = nextOf({ status: 200, headers, body: null }) ?? ''
    expect(idsOf(await api.get(next))).toEqual(made.slice(0, 5).reverse())
    for (const id of made) await api.delete(`/products/${id}`)
  })

  test('passwords are in no search and no order', async () => {
    for (const q of ['secret', 'a secret of mine', '**********', '$argon2id', 'argon2id']) {
      const expected = q.startsWith('*') ? [1, 2, 3] : []
      expect(await ids(api, `/users/?q=${encodeURIComponent(q)}`), q).toEqual(expected)
    }
    expect(await ids(api, '/users/?q=mail.example')).toEqual([1, 2, 3])
    expect(await ids(api, '/reviews/?q=mail.example&limit=1')).toEqual([1])
  })

  test('long and short pages of a selection come as NDJSON, too, with the same items and Link', async () => {
    for (const query of ['sort=price&limit=3', 'q=toy', 'id=999', 'min_price=5&count=3&limit=2']) {
      await comesAsLines(api, `/products/?${query}`)
    }
    for (const limit of [200, 201, 1_000]) await comesAsLines(api, `/categories/?sort=-name&count=2000&limit=${limit}`)
    await comesAsLines(api, '/reviews/products/6?sort=-rating&limit=2')
  })

  test('count adds the number of items, up to what was asked for', async () => {
    const total = async (path: string) => (await api.get(path)).headers.get(TOTAL)
    expect(await total('/products/?count=1')).toBe('1')
    expect(await total('/products/?count=8')).toBe('8')
    expect(await total('/products/?count=1000000000')).toBe('8')
    expect(await total('/products/?category_id=0&count=10')).toBe('2')
    expect(await total('/products/?min_price=10&count=3&limit=1&skip=2')).toBe('3')
    expect(await total('/products/?q=toy&count=10')).toBe('2')
    expect(await total('/products/?id=999&count=10')).toBe('0')
    expect(await total('/categories/?count=2000&limit=1000')).toBe('1005')
    expect(await total('/categories/?count=300&limit=201&sort=name')).toBe('300')
    expect(await total('/reviews/?rating=4,5&count=100')).toBe(String(reviewIds(({ rating }) => rating >= 4).length))
    expect(await total('/reviews/products/6?rating=4&count=100')).toBe('1')
    expect(await total('/users/?count=2')).toBe('2')
  })

  test('count is of the whole selection on each of its pages', async () => {
    for (let next: string | null = '/products/?sort=rating&min_price=3&count=100&limit=2'; next !== null; ) {
      const answer = await api.get(next)
      expect(answer.headers.get(TOTAL)).toBe('7')
      next = nextOf(answer)
    }
    expect((await api.get('/products/?after_id=4&count=100')).headers.get(TOTAL)).toBe('8')
  })

  test('the tag covers the count, and a 304 repeats it', async () => {
    for (const path of ['/products/?sort=price', '/categories/?limit=150']) {
      const plain = await api.get(path)
      const counted = await api.get(`${path}&count=5`)
      const more = await api.get(`${path}&count=6`)
      expect(new Set([plain, counted, more].map(({ headers }) => headers.get('ETag'))).size, path).toBe(3)
      const tag = counted.headers.get('ETag') ?? ''
      const again = await api.get(`${path}&count=5`, { 'If-None-Match': tag })
      expect(again.status, path).toBe(304)
      expect(again.headers.get(TOTAL), path).toBe('5')
      expect(again.headers.get('Link'), path).toBe(counted.headers.get('Link'))
      expect((await api.get(`${path}&count=6`, { 'If-None-Match': tag })).status, path).toBe(200)
      expect((await api.get(path, { 'If-None-Match': tag })).status, path).toBe(200)
    }
  })

  test('the tag covers where the link leads to, even if the chosen members stay the same', async () => {
    const products = [901, 902, 903].map(price => ({ ...sample.product, price }))
    const ids: number[] = []
    for (const product of products) ids.push(await api.create('/products/', product))
    const [first = 0, ...others] = ids
    const lists = ['min_price=901&sort=price', `after_id=${first - 1}`]
    const paths = lists.map(list => `/products/?${list}&fields=category_id&limit=1`)
    const before = await Promise.all(paths.map(path => api.get(path)))
    await api.delete(`/products/${first}`)
    for (const [place, path] of paths.entries()) {
      const kept = before[place]
      const after = await api.get(path, { 'If-None-Match': kept?.headers.get('ETag') ?? '' })
      expect(after.status, path).toBe(200)
      expect(after.body, path).toEqual(kept?.body)
      expect(after.headers.get('Link'), path).not.toBe(kept?.headers.get('Link') ?? null)
    }
    for (const id of others) await api.delete(`/products/${id}`)
  })

  test('selections are compressed, revalidated and kept as lists are', async () => {
    const list = await api.get('/categories/?limit=150')
    const selection = await api.get('/categories/?limit=150&sort=name')
    for (const name of ['Cache-Control', 'Vary', 'Content-Encoding']) {
      expect(selection.headers.get(name), name).toBe(list.headers.get(name))
    }
  })

  test('HEAD has the headers of GET', async () => {
    for (const path of [
      '/products/?sort=price&count=3&limit=2',
      '/categories/?sort=name&limit=250&count=9',
      '/products/1?fields=id',
    ]) {
      const [read, head] = [await api.get(path), await api.send(path, { method: 'HEAD' })]
      expect(head.status, path).toBe(200)
      expect(head.body, path).toBe('')
      for (const name of ['Link', TOTAL, 'ETag', 'Content-Type'])
        expect(head.headers.get(name), path + name).toBe(read.headers.get(name))
    }
    expect((await api.send('/products/?sort=x', { method: 'HEAD' })).status).toBe(422)
  })

  test('a missing parent is 404 after validation, whatever is selected', async () => {
    for (const query of ['rating=4', 'sort=-rating', 'count=5', 'limit=0&sort=id', 'limit=1000&rating=5']) {
      const answer = await api.get(`/reviews/products/4711?${query}`)
      expect(answer.status, query).toBe(404)
      expect(answer.body, query).toEqual({ detail: 'Product not found' })
      expect(answer.headers.get(TOTAL), query).toBeNull()
    }
    expect((await api.get('/reviews/users/4711?rating=4')).body).toEqual({ detail: 'User not found' })
    expect((await api.get('/reviews/products/4711?rating=6')).status).toBe(422)
    expect(await ids(api, '/reviews/products/4?rating=4')).toEqual([])
    expect(await ids(api, '/reviews/products/6?rating=1')).toEqual([])
  })
})

async function ids(api: Client, path: string): Promise<number[]> {
  return idsOf(await api.get(path))
}

function reviewIds(isWanted: (review: (typeof REVIEWS)[number]) => boolean): number[] {
  return REVIEWS.filter(isWanted).map(({ id }) => id)
}

function categoriesByName(): number[] {
  const keyed = CATEGORY_NAMES.map((name, index) => ({ id: index + 1, key: name.replace('É', 'e').toLowerCase() }))
  return keyed
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : one.id - other.id))
    .map(({ id }) => id)
}

function cursorOf(answer: Awaited<ReturnType<Client['get']>>): string {
  return new URL(nextOf(answer) ?? '', 'http://shop.example').searchParams.get('cursor') ?? ''
}

function detailOf({ body }: { readonly body: unknown }): { readonly loc: unknown[]; readonly type: string }[] {
  const detail: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'detail') : undefined
  return Array.isArray(detail) ? detail : []
}

async function comesAsLines(api: Client, path: string): Promise<void> {
  const json = await api.get(path)
  const asLines = await api.get(path, { Accept: 'application/x-ndjson' })
  expect(asLines.headers.get('Content-Type'), path).toBe('application/x-ndjson')
  for (const name of ['Link', TOTAL]) expect(asLines.headers.get(name), path).toBe(json.headers.get(name))
  const items = String(asLines.body).split('\n').slice(0, -1)
  expect(
    items.map(line => JSON.parse(line)),
    path,
  ).toEqual(Array.isArray(json.body) ? json.body : [])
}
