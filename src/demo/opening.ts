import type { Client } from 'stockroom/client'
import { DEMO_CATEGORIES, type Good, goods, opinion, people } from './goods.ts'
import { Random } from './random.ts'

const SEED = 7
/** The service takes it for a password that nobody knows, and hashes it once for all. */
const NO_PASSWORD = '**********'

export interface StockedProduct {
  readonly id: number
  readonly good: Good
}

/** The contents of the shop when it opens. */
export interface Opened {
  /** The most reviewed first. */
  readonly products: readonly StockedProduct[]
  readonly reviewers: readonly number[]
  /** The user in whose name visitors write reviews. */
  readonly visitor: number
}

/** Fills the empty catalog, by its own interface, unless the signal ends it. */
export async function openShop(shop: Client, signal: AbortSignal): Promise<Opened> {
  const random = new Random(SEED)
  const stocked = goods()
  const [categories, [visitor = 0, ...reviewers]] = await Promise.all([
    shop.categories.createMany(DEMO_CATEGORIES).then(({ ids }) => ids),
    shop.users.createMany(['A visitor', ...people()].map(account)).then(({ ids }) => ids),
  ])
  const categoryOf = ({ kind }: Good) =>
    categories[DEMO_CATEGORIES.findIndex(({ name }) => name === kind.category)] ?? null
  const { ids } = await shop.products.createMany(
    stocked.map(good => {
      const { name, description, price } = good
      return { name, description, price, category_id: categoryOf(good) }
    }),
  )
  const products = stocked.map((good, place) => ({ id: ids[place] ?? 0, good }))
  const reviews = products.flatMap(({ id, good }) =>
    random
      .shuffled(reviewers)
      .slice(0, good.reviews)
      .map(user => ({ product_id: id, user_id: user, ...opinion(good, random) })),
  )
  await shop.reviews.createMany(random.shuffled(reviews))
  // Brings the index of searches up to date, so that no visitor waits for it. A slow machine takes long.
  await shop.products.list({ sort: '-reviews', limit: 1 }, { retries: Number.POSITIVE_INFINITY, signal })
  return { products: products.toSorted((one, other) => other.good.reviews - one.good.reviews), reviewers, visitor }
}

function account(name: string, place: number) {
  const initials = name === 'A visitor' ? '☺' : name.replace(/^(.).* (.).*$/, '$1$2')
  return {
    name,
    email: `reader${place}@mail.example`,
    avatar: avatar(initials, (place * 47) % 360),
    password: NO_PASSWORD,
  }
}

/** A picture that needs no other server: initials on a colored disc. */
function avatar(initials: string, hue: number): string {
  return `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='4' fill='hsl(${hue} 32%25 42%25)'/><text x='4' y='5.1' font-size='3.1' font-family='system-ui,sans-serif' text-anchor='middle' fill='white'>${initials}</text></svg>`
}
