import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { ascending, createAll, idsOf } from '../../../../test/harness/catalog/list-pages.ts'
import type { Answer, Client } from '../../../../test/harness/client.ts'
import { onEachEngine } from '../../../../test/harness/contract.ts'
import { citus } from '../../../../test/harness/engines.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

const WRITES = 60
const READERS = 3

onEachEngine('a page beside writes', (api, engine) => {
  test('shows each match of a search once, even if its rank changes', async () => {
    const ids = await createAll(api, '/products/', 4, () => ({ ...sample.product, name: 'Quagga', description: '' }))
    const names = ['Other', 'Quagga', 'An old quagga']
    let isWriting = true
    // Each search brings the index up to date, also while another one reads.
    const readers = Array.from({ length: READERS }, async () => {
      while (isWriting) {
        const page = await api.get('/products/?q=quagga&fields=id')
        expect(ascending(idsOf(page))).toEqual(ids)
      }
    })
    const writers = ids.slice(0, 2).map(async id => {
      for (let place = 0; place < 2 * WRITES; place += 1) {
        await api.put(`/products/${id}`, { ...sample.product, name: names[place % 3], description: 'Quagga' })
      }
    })
    await Promise.all(writers).finally(() => {
      isWriting = false
    })
    await Promise.all(readers)
  })

  test('shows no review that breaks its filter or its order', async () => {
    const product = await api.create('/products/', sample.product)
    const user = await api.create('/users/', sample.user)
    const review = { ...sample.review(product, user), rating: 3 }
    const ids = await createAll(api, '/reviews/', 4, () => review)
    const change = (place: number) =>
      api.patch(`/reviews/${ids[place % 2]}`, { ...review, rating: place % 4 < 2 ? 5 : 1 })
    const list = `/reviews/products/${product}`
    for (const page of await readBesideWrites(api, `${list}?rating=5,3`, change)) {
      for (const { rating } of Rated.parse(page.body)) expect(rating).not.toBe(1)
    }
    for (const page of await readBesideWrites(api, `${list}?sort=-rating&fields=rating`, change)) {
      const ratings = Rated.parse(page.body).map(({ rating }) => rating)
      expect(ratings).toEqual(ratings.toSorted((one, other) => other - one))
    }
  })

  test('shows no review that has got another product', async () => {
    const product = await api.create('/products/', sample.product)
    const other = await api.create('/products/', sample.product)
    const user = await api.create('/users/', sample.user)
    const ids = await createAll(api, '/reviews/', 4, () => sample.review(product, user))
    const move = (place: number) =>
      api.patch(`/reviews/${ids[place % 2]}`, sample.review(place % 4 < 2 ? other : product, user))
    for (const page of await readBesideWrites(api, `/reviews/products/${product}`, move)) {
      const shown = Referring.parse(page.body).map(({ product_id }) => product_id)
      expect(new Set(shown)).toEqual(new Set([product]))
    }
  })

  // There, the index and the rows are on different servers.
  test.skipIf(engine === citus)('shows no product that breaks its filter or its order', async () => {
    const product = (price: number) => ({ ...sample.product, name: 'Zebra', price })
    const ids = await createAll(api, '/products/', 4, place => product(2 + place))
    const list = '/products/?q=zebra&max_price=8&sort=price&fields=price'
    const pages = await readBesideWrites(api, list, place =>
      api.put(`/products/${ids[place % 2]}`, product([9, 1, 7][place % 3] ?? 1)),
    )
    for (const page of pages) {
      const prices = Priced.parse(page.body).map(({ price }) => price)
      expect(prices).toEqual(prices.toSorted((one, other) => one - other))
      expect(prices).not.toContain(9)
    }
  })

  test('has facets that count the same products', async () => {
    const category = await api.create('/categories/', sample.category)
    const path = `/facets/products?q=okapi&category_id=${category}`
    let isWriting = true
    // Each search brings the index up to date, also while facets are counted.
    const searcher = async () => {
      while (isWriting) await api.get(`/products/?q=okapi&min_price=${Math.random()}`)
    }
    const reader = async () => {
      while (isWriting) {
        const { count, category_id: counts } = Counted.parse((await api.get(path)).body)
        expect(counts.find(({ value }) => value === category)?.count ?? 0).toBe(count)
      }
    }
    const writer = async () => {
      for (let place = 0; place < WRITES; place += 1) {
        await api.create(`/products/${category}/products`, { ...sample.product, name: 'Okapi' })
      }
    }
    const readers = Promise.all([searcher(), searcher(), reader()])
    await Promise.all([writer(), writer()]).finally(() => {
      isWriting = false
    })
    await readers
  })
})

const Counted = z.object({
  count: z.int(),
  category_id: z.array(z.object({ value: z.int(), count: z.int() })),
})
const Referring = z.array(z.object({ product_id: z.int() }))
const Rated = z.array(z.object({ rating: z.int() }))
const Priced = z.array(z.object({ price: z.number() }))

/** Reads pages, each beside one write. */
async function readBesideWrites(
  api: Client,
  path: string,
  write: (place: number) => Promise<Answer>,
): Promise<Answer[]> {
  const pages: Answer[] = []
  for (let place = 0; place < WRITES; place += 1) {
    const reads = Array.from({ length: READERS }, () => api.get(path))
    const [{ status }, ...read] = await Promise.all([write(place), ...reads])
    expect(status).toBe(200)
    pages.push(...read)
  }
  return pages
}
