import { expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import { campaign } from '../../../test/harness/campaign.ts'
import { createMany } from '../../../test/harness/catalog/created.ts'
import type { Client } from '../../../test/harness/client.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

const NAMES = ['Spade', 'Steel spade', 'Garden chair', 'Oak table', 'Rake']
const PRICES = [1.5, 5, 10, 10.01, 49.99, 50, 99]
const PRODUCTS = 40
const CATEGORIES = 4

interface Product {
  readonly id: number
  readonly name: string
  readonly price: number
  /** 0 without a category. */
  readonly category: number
  readonly stars: readonly number[]
}

interface Filters {
  readonly q?: string
  readonly category_id?: readonly number[]
  readonly min_price?: number
  readonly max_price?: number
  readonly below_price?: number
  readonly min_rating?: number
}

onEachEngine('facets of products', api => {
  campaign('count exactly what matches, each facet without its own filter', async effort => {
    const { products, categories } = await stocked(api)
    const filters = fc.record<Filters>(
      {
        q: fc.constantFrom('spade', 'st', 'oak table', '!'),
        category_id: fc.uniqueArray(fc.constantFrom(0, ...categories.keys(), 4_711), { minLength: 1, maxLength: 3 }),
        min_price: fc.constantFrom(...PRICES),
        max_price: fc.constantFrom(...PRICES),
        below_price: fc.constantFrom(...PRICES),
        min_rating: fc.constantFrom(1, 2.5, 4, 5),
      },
      { requiredKeys: [] },
    )
    const bands = fc
      .uniqueArray(fc.constantFrom(...PRICES), { maxLength: 3 })
      .map(bounds => bounds.sort((a, b) => a - b))
    const asked = fc.record({ filters, bands, limit: fc.constantFrom(1, 2, 20) })
    await fc.assert(
      fc.asyncProperty(asked, async ({ filters, bands, limit }) => {
        const query = new URLSearchParams({ category_limit: String(limit) })
        for (const [name, value] of Object.entries(filters)) query.set(name, String(value))
        if (bands.length > 0) query.set('price_bands', String(bands))
        const answer = await api.get(`/facets/products?${query}`)
        expect(answer.body, String(query)).toEqual(facetsOf({ products, categories }, filters, bands, limit))
      }),
      effort.runs(15),
    )
  })

  test('are those that are asked for, in one order', async () => {
    expect(Object.keys(Object((await api.get('/facets/products?facets=rating,price')).body))).toEqual([
      ...['count', 'price', 'rating'],
    ])
    expect(Object.keys(Object((await api.get('/facets/products?facets=category_id')).body))).toEqual([
      ...['count', 'category_id'],
    ])
  })

  test('show each write at once, and have one tag until then', async () => {
    const path = '/facets/products?min_price=70000&price_bands=70001'
    const before = await api.get(path)
    expect(before.body).toMatchObject({ count: 0, category_id: [] })
    const tag = before.headers.get('ETag') ?? ''
    expect((await api.get(path, { 'If-None-Match': tag })).status).toBe(304)
    const category = await api.create('/categories/', sample.category)
    const product = await api.create(`/products/${category}/products`, { ...sample.product, price: 70_000 })
    const counted = (name: string | null) => ({
      count: 1,
      category_id: [{ value: name ? category : 0, name, count: 1 }],
    })
    expect((await api.get(path)).body).toMatchObject(counted('Garden'))
    const another = await api.create(`/products/${category}/products`, { ...sample.product, price: 70_000 })
    expect((await api.get(path)).body).toMatchObject({ count: 2, price: { max: 70_000 } })
    await api.put(`/products/${another}`, { ...sample.product, price: 70_002 })
    expect((await api.get(path)).body).toMatchObject({ count: 2, price: { max: 70_002 } })
    await api.delete(`/products/${another}`)
    const named = `${path}&category_id=${category + 1}`
    expect((await api.get(named)).body).toMatchObject({ category_id: [{ value: category }] })
    expect(await api.create('/categories/', sample.category)).toBe(category + 1)
    expect((await api.get(named)).body).toMatchObject({ category_id: [{ value: category }, { value: category + 1 }] })
    await api.put(`/categories/${category}`, { ...sample.category, name: 'Indoors' })
    expect((await api.get(path)).body).toMatchObject(counted('Indoors'))
    const user = await api.create('/users/', sample.user)
    await api.create('/reviews/', { ...sample.review(product, user), rating: 3 })
    expect((await api.get(path)).body).toMatchObject({
      rating: [4, 3, 2, 1].map(min => ({ min, count: min > 3 ? 0 : 1 })),
    })
    await api.delete(`/categories/${category}`)
    expect((await api.get(path)).body).toMatchObject(counted(null))
    await api.delete(`/products/${product}`)
    expect((await api.get(path)).body).toMatchObject({ count: 0 })
  })

  test('refuse what they cannot count, all at once', async () => {
    const { status, body } = await api.get(
      '/facets/products?facets=size&price_bands=0,x&category_limit=201&min_rating=6&q=a',
    )
    expect(status).toBe(422)
    expect(
      Object(body).detail.map(({ loc, type }: { loc: string[]; type: string }) => [...loc, type].join(' ')),
    ).toEqual([
      'query min_rating less_than_equal',
      'query facets 0 literal_error',
      'query price_bands 0 greater_than',
      'query price_bands 1 float_parsing',
      'query category_limit less_than_equal',
    ])
    const many = Array.from({ length: 21 }, (_, at) => at + 1)
    expect((await api.get(`/facets/products?price_bands=${many}`)).body).toMatchObject({
      detail: [{ type: 'too_long', msg: 'List should have at most 20 items after validation, not 21' }],
    })
    expect((await api.get('/facets/products?price_bands=5,0')).body).toEqual({
      detail: [{ loc: ['query', 'price_bands', 1], msg: 'Input should be greater than 0', type: 'greater_than' }],
    })
    for (const bands of ['5,5', '2,1', '1,3,2']) {
      expect((await api.get(`/facets/products?price_bands=${bands}`)).body).toEqual({
        detail: [{ loc: ['query', 'price_bands'], msg: 'Value error, price_bands must ascend', type: 'value_error' }],
      })
    }
  })
})

/** A catalog of known products. */
async function stocked(api: Client) {
  const categories = new Map<number, string>()
  for (let at = 0; at < CATEGORIES; at += 1) {
    const name = `Shelf ${at}`
    categories.set(await api.create('/categories/', { ...sample.category, name }), name)
  }
  const user = await api.create('/users/', sample.user)
  const places = [0, ...categories.keys()]
  const wanted = Array.from({ length: PRODUCTS }, (_, at) => {
    const [name = '', price = 1] = [NAMES[at % NAMES.length], PRICES[at % PRICES.length]]
    // The last category stays empty.
    const category = places[(at * at) % (places.length - 1)] ?? 0
    return { name, price, category, stars: [5, 3, 4, 1, 2].slice(0, at % 4) }
  })
  const ids = await createMany(
    api,
    '/products/',
    wanted.map(({ name, price, category }) => ({
      name,
      description: 'Made to last',
      price,
      ...(category !== 0 && { category_id: category }),
    })),
  )
  const products: Product[] = wanted.map((product, at) => ({ id: ids[at] ?? 0, ...product }))
  const reviews = products.flatMap(({ id, stars }) => stars.map(rating => ({ ...sample.review(id, user), rating })))
  await createMany(api, '/reviews/', reviews)
  return { products, categories }
}

/** The plain definition. */
function facetsOf(
  { products, categories }: { readonly products: readonly Product[]; readonly categories: ReadonlyMap<number, string> },
  filters: Filters,
  bands: readonly number[],
  limit: number,
) {
  const { q, category_id: wanted, min_price: least, max_price: most, below_price: below, min_rating: stars } = filters
  const average = (product: Product) => product.stars.reduce((sum, one) => sum + one, 0) / product.stars.length
  const words = q?.match(/\w+/g) ?? []
  const rules = {
    words: ({ name }: Product) =>
      words.every(word =>
        name
          .toLowerCase()
          .split(' ')
          .some(one => one.startsWith(word)),
      ),
    category_id: ({ category }: Product) => !wanted || wanted.includes(category),
    price: ({ price }: Product) =>
      (least === undefined || price >= least) &&
      (most === undefined || price <= most) &&
      (below === undefined || price < below),
    rating: (product: Product) => stars === undefined || average(product) >= stars,
  }
  const matching = (but?: keyof typeof rules) =>
    products.filter(product => Object.entries(rules).every(([name, rule]) => name === but || rule(product)))
  const inPrice = matching('price').map(({ price }) => price)
  const counts = Map.groupBy(matching('category_id'), ({ category }) => category)
  const counted = (value: number) => ({
    value,
    name: categories.get(value) ?? null,
    count: counts.get(value)?.length ?? 0,
  })
  const byCount = (values: Iterable<number>) =>
    [...values].map(counted).sort((one, other) => other.count - one.count || one.value - other.value)
  const first = byCount(counts.keys()).slice(0, limit)
  const named = (wanted ?? []).filter(
    value => (value === 0 || categories.has(value)) && !first.some(shown => shown.value === value),
  )
  const bounds = [null, ...bands, null]
  return {
    count: matching().length,
    category_id: [...first, ...byCount(new Set(named))],
    price: {
      min: inPrice.length > 0 ? Math.min(...inPrice) : null,
      max: inPrice.length > 0 ? Math.max(...inPrice) : null,
      bands:
        bands.length === 0
          ? []
          : bounds.slice(1).map((max, at) => {
              const min = bounds[at] ?? null
              return {
                min,
                max,
                count: inPrice.filter(price => price >= (min ?? 0) && (max === null || price < max)).length,
              }
            }),
    },
    rating: [4, 3, 2, 1].map(min => ({
      min,
      count: matching('rating').filter(product => average(product) >= min).length,
    })),
  }
}
