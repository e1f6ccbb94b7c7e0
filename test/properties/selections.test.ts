import { expect, setDefaultTimeout } from 'bun:test'
import fc from 'fast-check'
import { z } from 'zod'
import { indexedWords, searchOf, sortKey } from '../../src/catalog/search/search.ts'
import { campaign } from '../harness/campaign.ts'
import { cacheFigures } from '../harness/catalog/cache-figures.ts'
import { lines, NDJSON } from '../harness/catalog/keyed.ts'
import { getAtLast } from '../harness/catalog/list-pages.ts'
import { rankOf } from '../harness/catalog/rank.ts'
import { type Client, client } from '../harness/client.ts'
import { QUICK_HASHES, WITHOUT_CACHE } from '../harness/contract.ts'
import { type Engine, postgres, sqlite } from '../harness/engines.ts'
import { sample } from '../harness/samples.ts'
import { startService } from '../harness/service.ts'

/**
 * Random walks: one write after the other, each through any of the processes, and after each of them selections through all of
 * these, which must show what a plain model shows. The selections of a walk repeat, so that caches answer them.
 */

setDefaultTimeout(120_000)

const STEPS = 30
/** The different selections of a walk. */
const SELECTIONS = 24
const READ_AFTER_EACH_STEP = 3
/** The second time from the cache. */
const TIMES = 2
const USERS = 2

interface Product {
  readonly name: string
  readonly price: number
  readonly category: number | null
}

interface Review {
  readonly product: number
  readonly user: number
  readonly rating: number
}

class Model {
  readonly categories = new Map<number, string>()
  readonly products = new Map<number, Product>()
  readonly reviews = new Map<number, Review>()

  deleteCategory(id: number): void {
    this.categories.delete(id)
    for (const [product, values] of this.products) {
      if (values.category === id) this.products.set(product, { ...values, category: null })
    }
  }

  deleteProduct(id: number): void {
    this.products.delete(id)
    for (const [review, { product }] of this.reviews) if (product === id) this.reviews.delete(review)
  }

  ratingsOf(id: number): number[] {
    return [...this.reviews.values()].filter(({ product }) => product === id).map(({ rating }) => rating)
  }
}

/** A list that can be asked for, and what the model says is in it. */
interface Asked {
  readonly path: string
  readonly items: (model: Model) => readonly number[]
  /** What is shown of an item, if not its id alone. */
  readonly shown?: (model: Model, id: number) => object
}

const small = fc.nat({ max: 3 })
const name = fc.constantFrom('Spade', 'spade', 'Spadework', 'Rake', 'Éclair', 'Garden rake', '😀 toy')
const price = fc.constantFrom(1, 2.5, 3, 10)
const some = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const direction = fc.constantFrom('', '-')

const productSelection: fc.Arbitrary<Asked> = fc
  .record({
    q: some(fc.constantFrom('spade', 'spade ', 'rake', 'ash', 'gard ra', '!')),
    category_id: some(fc.uniqueArray(small, { minLength: 1, maxLength: 3 })),
    min_price: some(price),
    max_price: some(price),
    below_price: some(price),
    min_rating: some(fc.constantFrom(1, 3, 4.5)),
    sort: some(fc.tuple(fc.constantFrom('id', 'name', 'price', 'rating', 'reviews'), direction)),
    skip: fc.nat({ max: 2 }),
    limit: fc.constantFrom(1, 3, 1_000),
  })
  .map(({ q, category_id, min_price = 0, max_price = 1e6, below_price = 1e6, min_rating, sort, skip, limit }) => {
    const query = new URLSearchParams({ skip: `${skip}`, limit: `${limit}`, count: '3' })
    const parameters = {
      q,
      category_id,
      min_price,
      max_price,
      below_price,
      min_rating,
      sort: sort && sort[1] + sort[0],
    }
    for (const [parameter, value] of Object.entries(parameters)) {
      if (value !== undefined) query.set(parameter, String(value))
    }
    const search = q === undefined ? null : searchOf(q)
    const rank = ({ name }: Product) => (search ? rankOf(search, indexedWords(name, sample.product.description)) : 1)
    const [word = search ? 'relevance' : 'id', minus = ''] = sort ?? []
    return {
      path: `/products/?${query}&fields=id,category_id,rating`,
      items: model => {
        const matching = [...model.products].filter(([id, product]) => {
          const average = mean(model.ratingsOf(id))
          return (
            rank(product) > 0 &&
            (category_id === undefined || category_id.includes(product.category ?? 0)) &&
            product.price >= min_price &&
            product.price <= max_price &&
            product.price < below_price &&
            (min_rating === undefined || (average !== null && average >= min_rating))
          )
        })
        const keyed = matching.map(([id, product]) => {
          const ratings = model.ratingsOf(id)
          const keys: Readonly<Record<string, number | string>> = {
            relevance: -rank(product),
            name: sortKey(product.name),
            price: product.price,
            rating: scoreOf(ratings),
            reviews: ratings.length,
          }
          return { id, key: keys[word] ?? 0 }
        })
        return sorted(keyed, minus === '-')
      },
      shown: (model, id) => {
        const ratings = model.ratingsOf(id)
        const histogram = [1, 2, 3, 4, 5].map(stars => ratings.filter(rating => rating === stars).length)
        const rating = { average: mean(ratings), count: ratings.length, histogram, score: scoreOf(ratings) }
        return { id, category_id: model.products.get(id)?.category ?? null, rating }
      },
    }
  })

const categorySelection: fc.Arbitrary<Asked> = fc
  .tuple(some(fc.constantFrom('spade', 'rake')), direction)
  .map(([q, minus]) => ({
    path: `/categories/?sort=${minus}name&count=3&fields=id${q === undefined ? '' : `&q=${q}`}`,
    items: model => {
      const search = q === undefined ? null : searchOf(q)
      const found = [...model.categories].filter(
        ([, name]) => search === null || rankOf(search, indexedWords(name, sample.category.description)) > 0,
      )
      return sorted(
        found.map(([id, name]) => ({ id, key: sortKey(name) })),
        minus === '-',
      )
    },
  }))

const reviewSelection: fc.Arbitrary<Asked> = fc
  .tuple(fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }), small, direction)
  .map(([ratings, user, minus]) => ({
    path: `/reviews/?rating=${ratings}&sort=${minus}id&count=3&fields=id${user === 0 ? '' : `&user_id=${user}`}`,
    items: model => {
      const found = [...model.reviews].filter(
        ([, review]) => ratings.includes(review.rating) && (user === 0 || review.user === user),
      )
      return sorted(
        found.map(([id]) => ({ id, key: 0 })),
        minus === '-',
      )
    },
  }))

/** Read after each step, because the cache answers few of the lists with `fields`. */
const WHOLE_REVIEWS: Asked = {
  path: '/reviews/?count=1000',
  items: ({ reviews }) =>
    sorted(
      [...reviews.keys()].map(id => ({ id, key: 0 })),
      false,
    ),
  shown: ({ products, reviews }, id) => {
    const { product = 0, user = 0, rating } = reviews.get(id) ?? {}
    const { name, price } = products.get(product) ?? {}
    const { name: userName, avatar } = sample.user
    return {
      id,
      ...sample.review(product, user),
      rating,
      product: { ...sample.product, id: product, name, price },
      user: { id: user, name: userName, avatar },
    }
  },
}

const selection = fc.oneof({ weight: 5, arbitrary: productSelection }, categorySelection, reviewSelection)

/** Which of the existing things a step takes, and its new values. */
const step = fc.record({
  kind: fc.constantFrom(
    ...([
      'create',
      'create',
      'load',
      'change',
      'change',
      'delete',
      'review',
      'review',
      'review',
      'move',
      'unreview',
    ] as const),
    ...(['create category', 'change category', 'delete category', 'foreign price', 'foreign delete'] as const),
  ),
  which: fc.nat({ max: 1_000 }),
  other: fc.nat({ max: 1_000 }),
  name,
  price,
  rating: fc.integer({ min: 1, max: 5 }),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

walks('one process on SQLite', sqlite, [[]])
walks('three processes on one SQLite file, one without a cache', sqlite, [[], [], WITHOUT_CACHE])
walks('two nodes on PostgreSQL', postgres, [[], []])

function walks(where: string, engine: Engine, processes: readonly (readonly string[])[]): void {
  campaign(`selections show every write before them, with ${where}`, async ({ rounds }) => {
    for (const seed of rounds(1)) {
      await using open = new AsyncDisposableStack()
      const { url } = open.use(await engine.freshDatabase())
      const services = []
      for (const flags of processes) {
        services.push(
          open.use(await startService(url, { flags: ['--access-log', 'off', ...flags], environment: QUICK_HASHES })),
        )
      }
      const nodes = services.map(({ address }) => client(() => address))
      const asked = fc.sample(selection, { seed, numRuns: SELECTIONS })
      const model = new Model()
      for (let user = 0; user < USERS; user += 1) await nodes[0]?.create('/users/', sample.user)
      for (const [place, drawn] of fc.sample(step, { seed, numRuns: STEPS }).entries()) {
        const writer = nodes[drawn.which % nodes.length]
        if (!writer) throw new Error('no process')
        await take(drawn, { model, writer, foreign: sql => engine.write(url, sql) })
        const selected = Array.from(
          { length: READ_AFTER_EACH_STEP },
          (_, index) => asked[(drawn.other + index) % asked.length],
        )
        await Promise.all(
          [WHOLE_REVIEWS, ...selected].map(async one => {
            if (!one) return
            const expected = expectedOf(one, model)
            for (const node of nodes.flatMap(node => Array<Client>(TIMES).fill(node))) {
              const { status, body, headers } = await getAtLast(node, one.path)
              const shown = { status, body, total: Number(headers.get('X-Total-Count')) }
              expect(shown, `${one.path} after step ${place}, ${drawn.kind}, of seed ${seed}`).toEqual(expected)
            }
          }),
        )
      }
      for (const [place, service] of services.entries()) {
        await service.stop()
        // Tests share the PostgreSQL server: transactions in their databases may clear this cache before each of its reads.
        if (engine === sqlite && processes[place]?.length === 0) expect(cacheFigures(service).hits).toBeGreaterThan(0)
      }
    }
  })
}

interface Surroundings {
  readonly model: Model
  readonly writer: Client
  readonly foreign: (sql: string) => Promise<void>
}

/** Writes through the process, or past it, and into the model. A step without anything to act on does nothing. */
async function take({ kind, which, other, name, price, rating }: Step, { model, writer, foreign }: Surroundings) {
  const { products, categories, reviews } = model
  const product = pick(products, which)
  const category = pick(categories, other)
  const review = pick(reviews, which)
  const user = (which % USERS) + 1
  const body = { ...sample.product, name, price }
  const reviewOf = (id: number) => ({ ...sample.review(id, user), rating })
  switch (kind) {
    case 'create': {
      const inCategory = which % 3 === 0 ? null : category
      const path = inCategory === null ? '/products/' : `/products/${inCategory}/products`
      products.set(await writer.create(path, body), { name, price, category: inCategory })
      return
    }
    case 'load': {
      const headers = { 'Content-Type': NDJSON }
      const loaded = await writer.send('/products/', { method: 'POST', headers, body: lines(body, body, body) })
      for (const id of Loaded.parse(loaded.body).ids) products.set(id, { name, price, category: null })
      return
    }
    case 'create category':
      categories.set(await writer.create('/categories/', { ...sample.category, name }), name)
      return
    case 'change category':
      if (category === null) return
      await succeeds(writer.put(`/categories/${category}`, { ...sample.category, name }))
      categories.set(category, name)
      return
    case 'delete category':
      if (category === null) return
      await succeeds(writer.delete(`/categories/${category}`))
      model.deleteCategory(category)
      return
    case 'move':
    case 'unreview':
      if (review === null || product === null) return
      if (kind === 'unreview') {
        await succeeds(writer.delete(`/reviews/${review}`))
        reviews.delete(review)
        return
      }
      await succeeds(writer.patch(`/reviews/${review}`, reviewOf(product)))
      reviews.set(review, { product, user, rating })
      return
  }
  const known = product === null ? undefined : products.get(product)
  if (product === null || !known) return
  switch (kind) {
    case 'change':
      await succeeds(writer.put(`/products/${product}`, body))
      products.set(product, { ...known, name, price })
      return
    case 'delete':
      await succeeds(writer.delete(`/products/${product}`))
      model.deleteProduct(product)
      return
    case 'review':
      reviews.set(await writer.create('/reviews/', reviewOf(product)), { product, user, rating })
      return
    case 'foreign price':
      await foreign(`UPDATE products SET price = ${price} WHERE id = ${product}`)
      products.set(product, { ...known, price })
      return
    case 'foreign delete':
      await foreign(`DELETE FROM products WHERE id = ${product}`)
      model.deleteProduct(product)
  }
}

const Loaded = z.object({ ids: z.array(z.int()) })

/** Items are also taken from the middle, so that pages move. */
function pick(from: ReadonlyMap<number, unknown>, which: number): number | null {
  const ids = [...from.keys()]
  return ids[which % Math.max(ids.length, 1)] ?? null
}

async function succeeds(answer: Promise<{ readonly status: number; readonly body: unknown }>): Promise<void> {
  const { status, body } = await answer
  expect(body).toBeObject()
  expect(status).toBe(200)
}

function expectedOf({ path, items, shown }: Asked, model: Model) {
  const query = new URLSearchParams(path.slice(path.indexOf('?')))
  const all = items(model)
  const skip = Number(query.get('skip') ?? 0)
  const page = all.slice(skip, skip + Number(query.get('limit') ?? 100))
  return {
    status: 200,
    body: page.map(id => shown?.(model, id) ?? { id }),
    total: Math.min(all.length, Number(query.get('count'))),
  }
}

function sorted(keyed: { readonly id: number; readonly key: number | string }[], isDescending: boolean): number[] {
  const ascending = keyed.sort((one, other) => byCodePoint(one.key, other.key) || one.id - other.id).map(({ id }) => id)
  return isDescending ? ascending.reverse() : ascending
}

/** Texts by code point, as the engines do, and not by UTF-16 unit; numbers by size. */
function byCodePoint(one: number | string, other: number | string): number {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) - Number(other)
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

function mean(ratings: readonly number[]): number | null {
  return ratings.length === 0 ? null : ratings.reduce((sum, rating) => sum + rating, 0) / ratings.length
}

function scoreOf(ratings: readonly number[]): number {
  const stars = ratings.reduce((sum, rating) => sum + rating, 0)
  return ratings.length === 0 ? 0 : (stars + 15) / (ratings.length + 5)
}
