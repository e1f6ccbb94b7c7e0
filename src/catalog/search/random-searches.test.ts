import { expect, setDefaultTimeout } from 'bun:test'
import fc from 'fast-check'
import { z } from 'zod'
import { alike } from '../../../test/harness/alike.ts'
import { anyCharacter } from '../../../test/harness/any-character.ts'
import { campaign } from '../../../test/harness/campaign.ts'
import { nextOf } from '../../../test/harness/catalog/list-pages.ts'
import { rankOf } from '../../../test/harness/catalog/rank.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { ENGINES } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'
import { ratingOf } from '../storage/rating.ts'
import { indexedWords, searchOf, sortKey } from './search.ts'

setDefaultTimeout(300_000)

/** Products of the catalog in `npm test` and in `npm run torture`. */
const PRODUCTS = 1_100
const MANY_PRODUCTS = 100_000

const QUERIES = 40
const CATALOG_SEED = 7
const CATEGORIES = 6
const LINES_AT_ONCE = 5_000
const LIMIT_MAX = 1_000
/** A share of the products have reviews. */
const REVIEWED_EVERY = 5

/** Few, so that queries match, and with what folding and cutting do to words. */
const WORDS = [
  ...'spade Spadework rake steel STEEL of the a an s t oak ash ashen Grün grun grunt Straße strasse'.split(' '),
  ...'T-shirt tshirt t shirt men’s mens Men rock-n-roll rocknroll roll 3-in-1 3in1 in 1 10 100 0.5'.split(' '),
  ...'電気 電 気 電気ケトル ケトル-電気 กาน้ำ ชา हिन्दी ñandú café cafe\u0301 ﬁsh fish Ｗｉｄｅ wide œuvre oeuvre 𝒳y 𐐀𐐁'.split(
    ' ',
  ),
  ...[
    '§',
    '»',
    '§spade',
    '»spade',
    '"',
    "'",
    '*',
    'AND',
    'OR',
    'NOT',
    'NEAR(',
    ':',
    '-',
    '^',
    '\\',
    '%',
    '_',
    '|',
    '&',
    '!',
    '<->',
  ],
]
const SEPARATORS = [' ', ' ', ' ', '-', '’', ', ', '. ', '/', '\u00ad']

const text = (words: { minLength: number; maxLength: number }) =>
  fc
    .array(fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(...SEPARATORS)), words)
    .map(pairs => pairs.map(([word, separator]) => word + separator).join(''))
const name = text({ minLength: 1, maxLength: 5 }).map(words => `${[...words].slice(0, 40).join('').trim()} set`)
const product = fc.record({
  name: name.map(words => (words.length > 50 ? 'Spade set' : words)),
  description: text({ minLength: 0, maxLength: 12 }),
  price: fc.integer({ min: 1, max: 400 }).map(quarters => quarters / 4),
  category_id: fc.option(fc.integer({ min: 1, max: CATEGORIES })),
})

interface Product {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly price: number
  readonly category_id: number | null
  readonly ratings: readonly number[]
}

const beginning = fc
  .tuple(text({ minLength: 1, maxLength: 3 }), fc.nat({ max: 4 }))
  .map(([words, cut]) => words.slice(0, Math.max(1, words.length - cut)))
const q = fc.oneof(
  { weight: 6, arbitrary: beginning },
  { weight: 2, arbitrary: fc.constantFrom('s', 't', 'sp', '電', 'g', 'a', 'spade set', 'steel ', 'the', '1') },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(...`"'*§»()&|!:\\^-+{}<> \0\ud800\udc00asé`), maxLength: 30 }),
  },
  { weight: 1, arbitrary: fc.constantFrom(...WORDS).map(word => word.repeat(60).slice(0, 200)) },
)
const query = fc.record(
  {
    q,
    category_id: fc.uniqueArray(fc.integer({ min: 0, max: CATEGORIES + 1 }), { minLength: 1, maxLength: 7 }),
    min_price: fc.integer({ min: 0, max: 50 }),
    max_price: fc.integer({ min: 40, max: 100 }),
    below_price: fc.integer({ min: 40, max: 100 }),
    min_rating: fc.integer({ min: 4, max: 16 }).map(quarters => quarters / 4),
    sort: fc.constantFrom(
      ...['id', 'name', 'price', 'rating', 'reviews'].flatMap(order => [order, `-${order}`]),
      'relevance',
    ),
  },
  { requiredKeys: [] },
)
type Query = typeof query extends fc.Arbitrary<infer Of> ? Of : never

const Ids = z.array(z.object({ id: z.int() }))

campaign(
  'every selection has the same items in the same order on both engines, as the plain definition says',
  async effort => {
    await using open = new AsyncDisposableStack()
    const clients: Client[] = []
    for (const engine of ENGINES) {
      const { url } = open.use(await engine.freshDatabase())
      const service = open.use(await startService(url, { flags: ['--access-log', 'off'] }))
      clients.push(client(() => service.address))
    }
    const api = alike(clients)
    const products = await filled(api, effort.size(PRODUCTS, MANY_PRODUCTS))
    // Until then, searches of so many new rows may be refused.
    for (const { get } of clients) await until(async () => (await get('/products/?q=spade&limit=1')).status === 200)
    let runs = 0
    let matching = 0
    await fc.assert(
      fc.asyncProperty(
        query,
        fc.integer({ min: 1, max: LIMIT_MAX }),
        fc.nat({ max: 50 }),
        async (asked, limit, skip) => {
          const expected = selected(products, asked)
          runs += 1
          if (expected.length > 0) matching += 1
          const path = `/products/?${parametersOf(asked)}`
          const first = await read(api, `${path}&limit=${limit}&count=${LIMIT_MAX}&fields=id`)
          expect(first.ids).toEqual(expected.slice(0, limit))
          expect(first.count).toBe(Math.min(expected.length, LIMIT_MAX))
          expect(first.next === null).toBe(expected.length <= limit)
          if (first.next !== null) expect((await read(api, first.next)).ids).toEqual(expected.slice(limit, 2 * limit))
          const passed = await read(api, `${path}&limit=${limit}&skip=${skip}&fields=id`)
          expect(passed.ids).toEqual(expected.slice(skip, skip + limit))
        },
      ),
      effort.runs(QUERIES),
    )
    // Otherwise it would show little.
    expect(matching).toBeGreaterThan(runs / 5)
  },
)

/** Stores the same catalog everywhere. */
async function filled(api: Client, size: number): Promise<Product[]> {
  for (let made = 0; made < CATEGORIES; made += 1) await api.create('/categories/', sample.category)
  const user = await api.create('/users/', sample.user)
  const made = fc.sample(product, { seed: CATALOG_SEED, numRuns: size })
  const products = made.map((values, place): Product => {
    const ratings =
      place % REVIEWED_EVERY === 0 ? Array.from({ length: place % 7 }, (_, review) => 1 + ((place + review) % 5)) : []
    return { ...values, id: place + 1, ratings }
  })
  await postLines(
    api,
    '/products/',
    products.map(({ id, ratings: _, ...values }) => values),
  )
  const reviews = products.flatMap(({ id, ratings }) => ratings.map(rating => ({ ...sample.review(id, user), rating })))
  await postLines(api, '/reviews/', reviews)
  return products
}

async function postLines(api: Client, path: string, items: readonly object[]): Promise<void> {
  for (let start = 0; start < items.length; start += LINES_AT_ONCE) {
    const lines = items.slice(start, start + LINES_AT_ONCE).map(item => `${JSON.stringify(item)}\n`)
    const request = { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: lines.join('') }
    expect((await api.send(path, request)).status).toBe(200)
  }
}

/** The ids of the products that a query selects, in its order. */
function selected(products: readonly Product[], { q = '', sort, ...filters }: Query): number[] {
  // What a URL can carry: a lone surrogate becomes U+FFFD.
  const search = searchOf(q.toWellFormed())
  const matches: { product: Product; rank: number }[] = []
  for (const product of products) {
    if (!isPassed(product, filters)) continue
    const rank = search ? rankOf(search, wordsOf(product)) : 0
    if (!search || rank > 0) matches.push({ product, rank })
  }
  const isByRank = search !== null && (sort === undefined || sort === 'relevance')
  const order = sort?.replace('-', '') ?? 'id'
  const key = (product: Product) => {
    const { score, count } = ratingOf(countsOf(product.ratings))
    switch (order) {
      case 'name':
        return sortKey(product.name)
      case 'price':
        return product.price
      case 'rating':
        return score
      case 'reviews':
        return count
      default:
        return 0
    }
  }
  const direction = sort?.startsWith('-') ? -1 : 1
  const sorted = matches.map(match => ({ ...match, key: isByRank ? -match.rank : key(match.product) }))
  sorted.sort((one, other) => direction * (compared(one.key, other.key) || one.product.id - other.product.id))
  return sorted.map(({ product }) => product.id)
}

const words = new WeakMap<Product, ReturnType<typeof indexedWords>>()

function wordsOf(product: Product) {
  const known = words.get(product) ?? indexedWords(product.name, product.description)
  words.set(product, known)
  return known
}

function isPassed({ price, category_id, ratings }: Product, filters: Omit<Query, 'q' | 'sort'>): boolean {
  const { average } = ratingOf(countsOf(ratings))
  return (
    (filters.category_id?.includes(category_id ?? 0) ?? true) &&
    price >= (filters.min_price ?? 0) &&
    price <= (filters.max_price ?? Number.POSITIVE_INFINITY) &&
    price < (filters.below_price ?? Number.POSITIVE_INFINITY) &&
    (filters.min_rating === undefined || (average !== null && average >= filters.min_rating))
  )
}

function countsOf(ratings: readonly number[]) {
  return [1, 2, 3, 4, 5].map(stars => ratings.filter(rating => rating === stars).length)
}

/** Texts by code point, which UTF-8 keeps. */
function compared(one: string | number, other: string | number): number {
  return typeof one === 'number' ? one - Number(other) : Buffer.compare(Buffer.from(one), Buffer.from(String(other)))
}

function parametersOf(asked: Query): string {
  return new URLSearchParams(
    Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
}

async function read(api: Client, path: string) {
  const answer = await api.get(path)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const count = answer.headers.get('X-Total-Count')
  return {
    ids: Ids.parse(answer.body).map(({ id }) => id),
    count: count === null ? null : Number(count),
    next: nextOf(answer),
  }
}
