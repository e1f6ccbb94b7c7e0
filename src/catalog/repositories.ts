import type { StoreDatabase } from '../database/open.ts'
import type { PostgresDatabase } from '../database/postgres/database.ts'
import type { SqliteDatabase } from '../database/sqlite/database.ts'
import { postgresCategories } from './categories/postgres.ts'
import type { CategoryRepository } from './categories/repository.ts'
import { sqliteCategories } from './categories/sqlite.ts'
import { postgresProducts } from './products/postgres.ts'
import type { ProductRepository } from './products/repository.ts'
import { sqliteProducts } from './products/sqlite.ts'
import { postgresReviews } from './reviews/postgres.ts'
import type { ReviewRepository } from './reviews/repository.ts'
import { sqliteReviews } from './reviews/sqlite.ts'
import { postgresUsers } from './users/postgres.ts'
import type { UserRepository } from './users/repository.ts'
import { sqliteUsers } from './users/sqlite.ts'

/** Where the catalog's resources are stored: all that an engine must do. */
export interface Repositories {
  readonly categories: CategoryRepository
  readonly products: ProductRepository
  readonly reviews: ReviewRepository
  readonly users: UserRepository
  /** Whether there is nothing to show: no category, product or user. */
  readonly isEmpty: () => Promise<boolean>
  /** Rejects with a `DatabaseUnavailableError` unless reads and writes can be done. */
  readonly probe: () => Promise<void>
}

export function repositoriesOf(database: StoreDatabase): Repositories {
  return database.engine === 'sqlite' ? sqliteRepositories(database) : postgresRepositories(database)
}

function sqliteRepositories(database: SqliteDatabase): Repositories {
  const isEmpty = emptyCatalog(database)
  return {
    categories: sqliteCategories(database),
    products: sqliteProducts(database),
    reviews: sqliteReviews(database),
    users: sqliteUsers(database),
    isEmpty: async () => database.snapshot(isEmpty),
    probe: () => database.probe(),
  }
}

function postgresRepositories(database: PostgresDatabase): Repositories {
  return {
    categories: postgresCategories(database),
    products: postgresProducts(database),
    reviews: postgresReviews(database),
    users: postgresUsers(database),
    isEmpty: async () => (await database.read(`${SOMETHING} LIMIT 1`)).length === 0,
    probe: () => database.probe(),
  }
}

/** The ids of all that there is to show; it ends with the first one that is taken. */
const SOMETHING = `
  SELECT id FROM (SELECT id FROM categories UNION ALL SELECT id FROM products UNION ALL SELECT id FROM users) AS something`

/** What tells, in whatever transaction it is asked, that there is no category, product or user. */
export function emptyCatalog(database: SqliteDatabase): () => boolean {
  const selectSomething = database.prepare<[], { id: number }>(`${SOMETHING} LIMIT 1`)
  return () => selectSomething.get() === null
}
