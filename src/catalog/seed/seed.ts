import type { CommandLine } from '../../config.ts'
import { openDatabase, readDatabaseSettings } from '../../database/open.ts'
import { OperatorError, SettingError } from '../../operator-error.ts'
import { progress } from '../../terminal/progress.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { hash } from '../users/password.ts'
import { postgresLoader } from './postgres.ts'
import { sampleCatalog } from './sample.ts'
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
  // One password that nobody knows, since to hash one for each of many users would take hours.
  const passwordHash = await hash(crypto.randomUUID())
  const shown = progress()
  const loader = store.engine === 'sqlite' ? sqliteLoader(store) : postgresLoader(store)
  const isLoaded = await loader.load(sampleCatalog(sizes, passwordHash), (kind, count) =>
    shown.report(kind, count, sizes[kind]),
  )
  if (!isLoaded) throw new OperatorError('the catalog is not empty, and stays as it is: seed fills an empty one')
  const counts = Object.entries(sizes).map(([kind, count]) => `${count} ${kind}`)
  process.stdout.write(`The catalog holds ${counts.join(', ')}\n`)
}
