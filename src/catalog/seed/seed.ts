import type { CommandLine } from '../../config.ts'
import { openDatabase, readDatabaseSettings } from '../../database/open.ts'
import { OperatorError, SettingError } from '../../operator-error.ts'
import { progress } from '../../terminal/progress.ts'
import { CATEGORIES } from '../categories/stored.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { PRODUCTS } from '../products/stored.ts'
import { REVIEWS } from '../reviews/stored.ts'
import type { StoredResource, Values } from '../storage/resource.ts'
import { hash } from '../users/password.ts'
import { USERS } from '../users/stored.ts'
import { postgresLoader } from './postgres.ts'
import { type SampleSizes, sampleCategories, sampleProducts, sampleReviews, sampleUsers } from './sample.ts'
import { categories, products, reviews, users } from './settings.ts'
import { sqliteLoader } from './sqlite.ts'

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
  await store.ready
  // One password that nobody knows, because hashing one for each of many users would take hours.
  const passwordHash = await hash(crypto.randomUUID())
  const shown = progress()
  const loader = store.engine === 'sqlite' ? sqliteLoader(store) : postgresLoader(store)
  const isLoaded = await loader.load(async insert => {
    const insertAll = async <Row extends Values>(
      kind: keyof SampleSizes,
      of: StoredResource<Row>,
      rows: Iterable<Row>,
    ) => {
      const ids = await insert(of, rows, count => count < sizes[kind] && shown.report(kind, count, sizes[kind]))
      shown.report(kind, ids.length, sizes[kind])
      return ids
    }
    const categoryIds = await insertAll('categories', CATEGORIES, sampleCategories(sizes))
    const productIds = await insertAll('products', PRODUCTS, sampleProducts(sizes, categoryIds))
    const userIds = await insertAll('users', USERS, sampleUsers(sizes, passwordHash))
    await insertAll('reviews', REVIEWS, sampleReviews(sizes, productIds, userIds))
  })
  if (!isLoaded) throw new OperatorError('the catalog already has data; seed needs an empty one')
  const counts = Object.entries(sizes).map(([kind, count]) => `${count} ${kind}`)
  process.stdout.write(`The catalog holds ${counts.join(', ')}\n`)
}
