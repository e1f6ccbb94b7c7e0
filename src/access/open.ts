import type { StoreDatabase } from '../database/open.ts'
import { postgresKeys } from './postgres.ts'
import type { KeyRepository } from './repository.ts'
import { sqliteKeys } from './sqlite.ts'

/** The storage of access keys, for either engine. */
export function keysOf(database: StoreDatabase): KeyRepository {
  return database.engine === 'sqlite' ? sqliteKeys(database) : postgresKeys(database)
}
