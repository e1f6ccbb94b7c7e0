import type { FeedEvent, Resource } from './event.ts'

const SINGULAR: readonly Resource[] = ['product', 'category', 'review', 'user']

/** The types of all events, in the order of the documentation. */
export const TYPES: readonly string[] = [
  ...SINGULAR.flatMap(resource => ['created', 'updated', 'deleted'].map(verb => `${resource}.${verb}`)),
  ...['reviews.deleted', 'products.imported', 'categories.imported', 'users.imported', 'reviews.imported'],
  ...['ready', 'reset'],
]

/** The words of the parameter `types`. */
export const TYPE_WORDS: readonly string[] = [...TYPES, ...SINGULAR]

/** Whether a word of `types` asks for events about users. */
export function isOfUsers(word: string): boolean {
  return word.startsWith('user')
}

/** Which events a follower gets. It looks at the event alone, so followers with equal filters can share frames. */
export interface EventFilter {
  /** The same for equal filters. */
  readonly key: string
  readonly passes: (event: FeedEvent) => boolean
}

/** A filter for words of `types` and for products: for all if they are absent. */
export function filterOf(
  types: readonly string[] | undefined,
  products: readonly number[] | undefined,
  includesUsers: boolean,
): EventFilter {
  const words = types && new Set(types)
  const ids = products && new Set(products)
  return {
    key: JSON.stringify([types, products, includesUsers]),
    passes: event => {
      if (!includesUsers && event.resource === 'user') return false
      if (words && !words.has(event.type) && !words.has(event.resource)) return false
      return !ids || event.products === null || event.products.some(id => ids.has(id))
    },
  }
}
