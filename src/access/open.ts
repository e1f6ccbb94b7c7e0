import type { StoreDatabase } from '../database/open.ts'
import { postgresAccessKeys } from './postgres.ts'
import type { KeyRepository } from './repository.ts'
import { sqliteAccessKeys } from './sqlite.ts'

/** The storage of access keys, for either engine. */
export function keysOf(database: StoreDatabase): KeyRepository {
  return database.engine === 'sqlite' ? sqliteAccessKeys(database) : postgresAccessKeys(database)
}
