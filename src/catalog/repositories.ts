import type { StoreDatabase } from '../database/open.ts'
import type { PostgresDatabase } from '../database/postgres/database.ts'
import type { SqliteDatabase } from '../database/sqlite/database.ts'
import { lazy } from '../shared.ts'
import type { Loader } from './bulk/load.ts'
import { loaderOf } from './bulk/open.ts'
import { CATEGORIES, type CategoryRow } from './categories/stored.ts'
import { compressedCharacters } from './http/compression.ts'
import { type Idempotency, idempotencyOf } from './http/idempotency/keyed-request.ts'
import { PRODUCTS, type ProductRow } from './products/stored.ts'
import { REVIEWS, type ReviewRow } from './reviews/stored.ts'
import { searchIndexOf } from './search-index.ts'
import { type CacheFigures, RepresentationCache } from './storage/cache/cached.ts'
import { cachedFacets } from './storage/cache/facets.ts'
import { citusTable } from './storage/citus/table.ts'
import type { KeyStore } from './storage/idempotency/keys.ts'
import { AnswerSpace } from './storage/idempotency/space.ts'
import type { CatchingUp } from './storage/index/catching-up.ts'
import { type CountFacets, facetCounter } from './storage/index/facets.ts'
import { type IndexReader, listsOf } from './storage/index/lists.ts'
import { postgresFacetReads } from './storage/postgres/facets.ts'
import { postgresIndexReads } from './storage/postgres/index-reads.ts'
import { postgresKeyStore } from './storage/postgres/keys.ts'
import { postgresTable } from './storage/postgres/table.ts'
import { wholeList } from './storage/query.ts'
import type { IndexedResource, StoredResource, Values } from './storage/resource.ts'
import { type Parents, resourceStore } from './storage/resource-store.ts'
import { sqliteFacetReads } from './storage/sqlite/facets.ts'
import { sqliteIndexReads } from './storage/sqlite/index-reads.ts'
import { sqliteKeyStore, sqliteKeys } from './storage/sqlite/keys.ts'
import { sqliteTable } from './storage/sqlite/table.ts'
import type { Lists, ResourceStore, ResourceTable } from './storage/store.ts'
import { USERS, type UserRow } from './users/stored.ts'

/** The storage of the catalog's resources, for either engine. */
export interface Repositories {
  readonly categories: ResourceStore<CategoryRow>
  readonly products: ResourceStore<ProductRow>
  readonly reviews: ResourceStore<ReviewRow>
  readonly users: ResourceStore<UserRow>
  /** Creates many at once. */
  readonly loader: Loader
  readonly idempotency: Idempotency
  readonly keys: KeyStore
  /** Whether there is no category, product or user. */
  readonly isEmpty: () => Promise<boolean>
  /** Rejects with a `DatabaseUnavailableError` unless the database takes reads and writes. */
  readonly probe: () => Promise<void>
  readonly countFacets: CountFacets<ProductRow>
  /** Keeps the index of search, filters and orders up to date. */
  readonly searchIndex: CatchingUp
  /** `null` without a cache. */
  readonly cacheFigures: () => CacheFigures | null
}

interface RepositoryLimits {
  /** For the cache; 0 switches it off. */
  readonly cacheBytes: number
  /** For the answers to requests with an `Idempotency-Key`. */
  readonly idempotencyBytes: number
}

export function repositoriesOf(
  database: StoreDatabase,
  { cacheBytes, idempotencyBytes }: RepositoryLimits,
): Repositories {
  const changes = database.engine === 'sqlite' ? database : database.changes
  const resources = [CATEGORIES, PRODUCTS, USERS, REVIEWS]
  const cacheLimits = { maxBytes: cacheBytes, derivedCharacters: compressedCharacters }
  const cache = new RepresentationCache(changes, resources, cacheLimits)
  const { keys, tableOf, indexOf, facetReads } =
    database.engine === 'sqlite' ? sqliteStorage(database) : postgresStorage(database)
  const searchIndex = searchIndexOf(database)
  const storeOf = <Row extends Values>(
    resource: StoredResource<Row>,
    index: IndexReader<Row> | null,
    parents: Parents,
  ): ResourceStore<Row> => {
    const table = tableOf(resource)
    return resourceStore(resource, table, listsOf(table, index, searchIndex), cache, parents)
  }
  const categories = storeOf(CATEGORIES, indexOf(CATEGORIES), {})
  const products = storeOf(PRODUCTS, indexOf(PRODUCTS), { Category: categories.exists })
  const users = storeOf(USERS, indexOf(USERS), {})
  const reviews = storeOf(REVIEWS, null, { Product: products.exists, User: users.exists })
  return {
    categories,
    products,
    reviews,
    users,
    loader: loaderOf(database, { isServing: true }),
    idempotency: idempotencyOf(keys, new AnswerSpace(keys, idempotencyBytes)),
    keys,
    isEmpty: async () => {
      const hasRows = async <Row extends Values>({ end }: Lists<Row>) => (await end(wholeList())).last !== null
      return !((await hasRows(categories)) || (await hasRows(products)) || (await hasRows(users)))
    },
    countFacets: cachedFacets(facetCounter(facetReads, searchIndex), cache),
    searchIndex,
    probe: () => database.probe(),
    cacheFigures: () => cache.figures,
  }
}

function sqliteStorage(database: SqliteDatabase) {
  const keys = sqliteKeys(database)
  return {
    keys: sqliteKeyStore(database, keys),
    tableOf: <Row extends Values>(resource: StoredResource<Row>) => sqliteTable(database, resource, keys),
    indexOf: <Row extends Values>(resource: IndexedResource<Row>) => sqliteIndexReads(database, resource),
    facetReads: sqliteFacetReads(database, PRODUCTS),
  }
}

function postgresStorage(database: PostgresDatabase) {
  return {
    keys: postgresKeyStore(database),
    tableOf: <Row extends Values>(resource: StoredResource<Row>) =>
      onceReady(() => (database.isDistributed ? citusTable(database, resource) : postgresTable(database, resource))),
    indexOf: <Row extends Values>(resource: IndexedResource<Row>) => postgresIndexReads(database, resource),
    facetReads: postgresFacetReads(database, PRODUCTS),
  }
}

/** Makes a table when it is first used, because how it is read and written is known when the database is ready. */
function onceReady<Row extends Values>(make: () => ResourceTable<Row>): ResourceTable<Row> {
  const table = lazy(make)
  return {
    page: query => table().page(query),
    count: (query, most) => table().count(query, most),
    canScan: () => table().canScan(),
    reads: resource => {
      const reads = lazy(() => table().reads(resource))
      return { read: ids => reads().read(ids), scan: query => reads().scan(query) }
    },
    create: (row, claim) => table().create(row, claim),
    update: (id, row, expected) => table().update(id, row, expected),
    delete: (id, expected) => table().delete(id, expected),
  }
}
