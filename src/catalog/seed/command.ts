import type { Command } from '../../command.ts'
import { amount, readCommandLine } from '../../config.ts'
import { databaseSettings, openDatabase, readDatabaseSettings } from '../../database/open.ts'
import { OperatorError, SettingError } from '../../operator-error.ts'
import { progress } from '../../terminal/progress.ts'
import { hash } from '../users/password.ts'
import { postgresLoader } from './postgres.ts'
import { sampleCatalog } from './sample.ts'
import { sqliteLoader } from './sqlite.ts'

const ROWS_MAX = 100_000_000

const categories = amount('categories', 20, 10_000, 'how many categories')
const products = amount('products', 500, ROWS_MAX, 'how many products')
const users = amount('users', 100, ROWS_MAX, 'how many users')
const reviews = amount('reviews', 1_500, ROWS_MAX, 'how many reviews')

export const seed: Command = {
  name: 'seed',
  operands: '',
  summary: 'Fill an empty database with a sample catalog, always the same for the same sizes.',
  settings: [...databaseSettings, categories, products, users, reviews],
  run: async argv => {
    const line = readCommandLine(argv, seed.settings)
    const sizes = {
      categories: line.value(categories),
      products: line.value(products),
      users: line.value(users),
      reviews: line.value(reviews),
    }
    if (sizes.reviews > 0 && (sizes.products === 0 || sizes.users === 0)) {
      throw new SettingError('reviews need products and users; choose --reviews 0 or more of those')
    }
    await using store = await openDatabase(readDatabaseSettings(line))
    await store.ready
    // One password that nobody knows, since to hash one for each of many users would take hours.
    const passwordHash = await hash(crypto.randomUUID())
    const shown = progress()
    const loader = store.engine === 'sqlite' ? sqliteLoader(store) : postgresLoader(store)
    const isLoaded = await loader.load(sampleCatalog(sizes, passwordHash), (kind, count) =>
      shown.at(kind, count, sizes[kind]),
    )
    if (!isLoaded) throw new OperatorError('the catalog is not empty, and stays as it is: seed fills an empty one')
    const counts = Object.entries(sizes).map(([kind, count]) => `${count} ${kind}`)
    process.stdout.write(`The catalog holds ${counts.join(', ')}\n`)
  },
}
