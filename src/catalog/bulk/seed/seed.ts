import { openDatabase, readDatabaseSettings } from '../../../database/open.ts'
import type { CommandLine } from '../../../program/config.ts'
import { OperatorError, SettingError } from '../../../program/operator-error.ts'
import { print } from '../../../program/output.ts'
import { progress } from '../../../program/progress.ts'
import { CATEGORIES } from '../../categories/stored.ts'
import { catalogMigrations } from '../../migrations/index.ts'
import { PRODUCTS } from '../../products/stored.ts'
import { REVIEWS } from '../../reviews/stored.ts'
import { buildSearchIndex } from '../../search-index.ts'
import { hash } from '../../users/password.ts'
import { USERS } from '../../users/stored.ts'
import type { NewRow } from '../load.ts'
import { loaderOf } from '../open.ts'
import { counted, type StoredRows } from '../table.ts'
import { type SampleSizes, sampleCategories, sampleProducts, sampleReviews, sampleUsers } from './sample.ts'
import { categories, products, reviews, users } from './settings.ts'

/** Rows that are stored at once, between two reports of progress. */
const BATCH_ROWS = 10_000

export async function seed(line: CommandLine): Promise<void> {
  const sizes = {
    categories: line.value(categories),
    products: line.value(products),
    users: line.value(users),
    reviews: line.value(reviews),
  }
  if (sizes.reviews > 0 && (sizes.products === 0 || sizes.users === 0)) {
    throw new SettingError('reviews need products and users; choose --reviews 0 or more of those')
  }
  await using store = await openDatabase(readDatabaseSettings(line), [catalogMigrations])
  // One password that nobody knows, because hashing one for each of many users would take hours.
  const passwordHash = await hash(crypto.randomUUID())
  const shown = progress()
  const isLoaded = await loaderOf(store, { isServing: false })(async load => {
    if (!(await load.areEmpty([CATEGORIES, PRODUCTS, USERS]))) return false
    const storeAll = async (kind: keyof SampleSizes, resource: StoredRows, rows: Iterable<NewRow>) => {
      const ids: number[] = []
      for (const batch of batches(rows)) {
        for (const id of (await load.store(resource, batch)).ids) ids.push(id)
        if (ids.length < sizes[kind]) shown.report(kind, ids.length, sizes[kind])
      }
      shown.report(kind, ids.length, sizes[kind])
      return ids
    }
    const categoryIds = await storeAll('categories', CATEGORIES, sampleCategories(sizes))
    const productIds = await storeAll('products', PRODUCTS, sampleProducts(sizes, categoryIds))
    const userIds = await storeAll('users', USERS, sampleUsers(sizes, passwordHash))
    await storeAll('reviews', REVIEWS, sampleReviews(sizes, productIds, userIds))
    await load.complete()
    return true
  })
  if (!isLoaded) throw new OperatorError('the catalog already has data; seed needs an empty one')
  await buildSearchIndex(store, shown)
  const counts = [CATEGORIES, PRODUCTS, USERS, REVIEWS].map(resource => counted(resource, sizes[resource.table]))
  print(`The catalog holds ${counts.join(', ')}\n`)
}

function* batches<Row>(rows: Iterable<Row>): Generator<Row[]> {
  let batch: Row[] = []
  for (const row of rows) {
    batch.push(row)
    if (batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
