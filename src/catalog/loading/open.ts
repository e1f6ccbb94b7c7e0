import type { StoreDatabase } from '../../database/open.ts'
import type { Loader } from './loader.ts'
import { postgresLoader } from './postgres.ts'
import { sqliteLoader } from './sqlite.ts'

/** `isServing` if others wait for answers meanwhile: then it neither blocks the event loop nor waits for a lock for long. */
export function loaderOf(database: StoreDatabase, { isServing }: { readonly isServing: boolean }): Loader {
  return database.engine === 'sqlite' ? sqliteLoader(database, isServing) : postgresLoader(database, isServing)
}
