import type { StoreDatabase } from '../../database/open.ts'
import { AnswerSpace } from '../storage/idempotency/space.ts'
import type { Loader } from './load.ts'
import { postgresLoader } from './postgres.ts'
import { sqliteLoader } from './sqlite.ts'

interface LoaderOptions {
  /**
   * Whether other requests must go on: it does not block the event loop or wait long for a lock, and takes an id only if it is
   * above all so far.
   */
  readonly isServing: boolean
  /** For the answers that a service stores. */
  readonly space?: AnswerSpace
}

export function loaderOf(database: StoreDatabase, { isServing, space = new AnswerSpace(0) }: LoaderOptions): Loader {
  return database.engine === 'sqlite'
    ? sqliteLoader(database, isServing, space)
    : postgresLoader(database, isServing, space)
}
