import { reasonOfRefusedRow } from '../../database/bulk.ts'
import { historyOf } from '../../database/history.ts'
import type { StoreDatabase } from '../../database/open.ts'
import { OperatorError } from '../../program/operator-error.ts'
import type { Loader } from './load.ts'
import { postgresLoader } from './postgres.ts'
import { sqliteLoader } from './sqlite.ts'

/**
 * Makes the loader of a database. With `isServing`, other requests must go on: it does not block the event loop or wait long for
 * a lock, and takes an id only if it is above all so far.
 */
export function loaderOf(database: StoreDatabase, { isServing }: { readonly isServing: boolean }): Loader {
  const load = database.engine === 'sqlite' ? sqliteLoader(database, isServing) : postgresLoader(database, isServing)
  if (isServing) return load
  return async work => {
    await historyOf(database).begin()
    return load(work).catch(throwRefusal)
  }
}

/** Somebody may have made a unique index. The driver's own error quotes the row, with the hash of a password. */
function throwRefusal(error: unknown): never {
  const reason = reasonOfRefusedRow(error)
  if (reason === null) throw error
  throw new OperatorError(`the database refused a row, so nothing was stored: ${reason}`)
}
