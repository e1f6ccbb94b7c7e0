import type { StoreDatabase } from '../../database/open.ts'
import type { Loader } from './loader.ts'
import { postgresLoader } from './postgres.ts'
import { sqliteLoader } from './sqlite.ts'

/** `rebuildsIndexes` for a program that answers nobody while it loads. */
export function loaderOf(database: StoreDatabase, options: { readonly rebuildsIndexes: boolean }): Loader {
  return database.engine === 'sqlite' ? sqliteLoader(database, options) : postgresLoader(database)
}
