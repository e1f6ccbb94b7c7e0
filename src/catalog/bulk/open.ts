import type { StoreDatabase } from '../../database/open.ts'
import type { Loader } from './load.ts'
import { postgresLoader } from './postgres.ts'
import { sqliteLoader } from './sqlite.ts'

/**
 * Makes the loader of a database. With `isServing`, other requests must go on: it does not block the event loop or wait long for
 * a lock, and takes an id only if it is above all so far.
 */
export function loaderOf(database: StoreDatabase, { isServing }: { readonly isServing: boolean }): Loader {
  return database.engine === 'sqlite' ? sqliteLoader(database, isServing) : postgresLoader(database, isServing)
}
