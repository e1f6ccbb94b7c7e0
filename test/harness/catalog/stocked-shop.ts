import { expect } from 'bun:test'
import type { Client } from '../client.ts'
import { sample } from '../samples.ts'
import { lines, NDJSON } from './keyed.ts'
import { getAtLast } from './list-pages.ts'

/** A product with ratings; its id is its place in the list, counted from 1. */
interface Stocked {
  readonly name: string
  readonly price: number
  readonly category: number | null
  readonly ratings: readonly number[]
}

const NAMED_CATEGORIES = ['Garden', 'Kitchen', 'garden', 'Éclair', 'Zoo']

/** Enough for the longest page of a selection. */
const SHELVES = 1_000

/** Equal names, prices, averages and scores; two names whose code points and UTF-16 units are in opposite orders. */
export const STOCK: readonly Stocked[] = [
  { name: 'Spade', price: 10, category: 1, ratings: [5, 5] },
  { name: 'spade', price: 10, category: 1, ratings: [4] },
  { name: 'Rake', price: 7.5, category: 2, ratings: [1] },
  { name: 'Ladle', price: 3, category: null, ratings: [] },
  { name: 'Éclair', price: 2.25, category: 2, ratings: [] },
  { name: '😀 toy', price: 10, category: null, ratings: [3, 4, 5] },
  { name: '\ufffd toy', price: 99, category: 1, ratings: [] },
  { name: 'Abacus', price: 7.5, category: 3, ratings: [4] },
]

const USERS = ['Grace', 'Ada B', 'grace']

/** The names of the categories, by id from 1 on. */
export const CATEGORY_NAMES: readonly string[] = [
  ...NAMED_CATEGORIES,
  ...Array.from({ length: SHELVES }, (_, index) => `Shelf ${index % 7}`),
]

/** The reviews, by id from 1 on. Each user in turn writes one. */
export const REVIEWS = STOCK.flatMap(({ ratings }, index) =>
  ratings.map(rating => ({ product: index + 1, rating })),
).map((review, index) => ({ ...review, id: index + 1, user: (index % USERS.length) + 1 }))

/** Fills an empty catalog, and waits until the index has all of it. */
export async function stock(api: Client): Promise<void> {
  const categories = CATEGORY_NAMES.map(name => ({ ...sample.category, name }))
  const headers = { 'Content-Type': NDJSON }
  const loaded = await api.send('/categories/', { method: 'POST', body: lines(...categories), headers })
  expect(loaded.status).toBe(200)
  for (const name of USERS) await api.create('/users/', { ...sample.user, name })
  for (const { name, price, category } of STOCK) {
    const path = category === null ? '/products/' : `/products/${category}/products`
    await api.create(path, { name, description: 'Of the stock', price })
  }
  for (const { product, user, rating } of REVIEWS) {
    await api.create('/reviews/', { ...sample.review(product, user), rating })
  }
  await getAtLast(api, '/products/?q=stock')
}
