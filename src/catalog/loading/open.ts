import type { StoreDatabase } from '../../database/open.ts'
import { postgresKeys } from '../idempotency/postgres.ts'
import { Room } from '../idempotency/room.ts'
import type { Loader } from './loader.ts'
import { postgresLoader } from './postgres.ts'
import { sqliteLoader } from './sqlite.ts'

interface LoaderOptions {
  /**
   * Whether other requests must go on: it does not block the event loop or wait long for a lock, and takes an id only if it is
   * above all so far.
   */
  readonly isServing: boolean
  /** For the answers that a service stores. */
  readonly room?: Room
}

export function loaderOf(database: StoreDatabase, { isServing, room = new Room(0) }: LoaderOptions): Loader {
  return database.engine === 'sqlite'
    ? sqliteLoader(database, isServing, room)
    : postgresLoader(database, isServing, postgresKeys(room))
}
