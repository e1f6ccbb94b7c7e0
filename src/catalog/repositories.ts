import type { StoreDatabase } from '../database/open.ts'
import { type CacheContents, type CacheFigures, RepresentationCache } from './cache/cached.ts'
import { CATEGORIES, type CategoryRow } from './categories/stored.ts'
import type { Loader } from './loading/loader.ts'
import { loaderOf } from './loading/open.ts'
import { PRODUCTS, type ProductRow } from './products/stored.ts'
import { REVIEWS, type ReviewRow } from './reviews/stored.ts'
import { postgresTable } from './storage/postgres.ts'
import { loggedChanges } from './storage/postgres-log.ts'
import type { StoredResource, Values } from './storage/resource.ts'
import { resourceStore } from './storage/resource-store.ts'
import { sqliteTable } from './storage/sqlite.ts'
import type { ResourceStore, ResourceTable } from './storage/store.ts'
import { USERS, type UserRow } from './users/stored.ts'

/** The storage of the catalog's resources, for either engine. */
export interface Repositories {
  readonly categories: ResourceStore<CategoryRow>
  readonly products: ResourceStore<ProductRow>
  readonly reviews: ResourceStore<ReviewRow>
  readonly users: ResourceStore<UserRow>
  /** Creates many at once. */
  readonly loader: Loader
  /** Whether there is no category, product or user. */
  readonly isEmpty: () => Promise<boolean>
  /** Rejects with a `DatabaseUnavailableError` unless the database takes reads and writes. */
  readonly probe: () => Promise<void>
  /** `null` without a cache. */
  readonly cacheFigures: () => (CacheFigures & CacheContents) | null
}

/** `cacheBytes` limits the cache; 0 switches it off. */
export function repositoriesOf(database: StoreDatabase, cacheBytes: number): Repositories {
  const changes =
    database.engine === 'sqlite' ? database : loggedChanges(database.changes, [CATEGORIES, PRODUCTS, USERS, REVIEWS])
  const cache = cacheBytes > 0 ? new RepresentationCache(changes, cacheBytes) : null
  const tableOf = <Row extends Values>(resource: StoredResource<Row>): ResourceTable<Row> => {
    const table = database.engine === 'sqlite' ? sqliteTable(database, resource) : postgresTable(database, resource)
    return cache ? cache.cached(resource, table) : table
  }
  const categories = resourceStore(CATEGORIES, tableOf(CATEGORIES))
  const products = resourceStore(PRODUCTS, tableOf(PRODUCTS), { Category: categories.exists })
  const users = resourceStore(USERS, tableOf(USERS))
  const reviews = resourceStore(REVIEWS, tableOf(REVIEWS), { Product: products.exists, User: users.exists })
  return {
    categories,
    products,
    reviews,
    users,
    loader: loaderOf(database, { isServing: true }),
    isEmpty: async () => {
      for (const { list } of [categories, products, users]) {
        const { items } = await list().read({ afterId: 0, skip: 0, limit: 1 })
        if (items.length > 0) return false
      }
      return true
    },
    probe: () => database.probe(),
    cacheFigures: () => cache?.figures ?? null,
  }
}
