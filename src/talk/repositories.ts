import type { SqliteDatabase } from '../database/sqlite.ts'
import type { AccountRepository } from './accounts/repository.ts'
import { sqliteAccounts } from './accounts/sqlite.ts'
import type { RoomRepository } from './rooms/repository.ts'
import { sqliteRooms } from './rooms/sqlite.ts'

/** Where accounts and rooms are stored: all that an engine must do. */
export interface Repositories {
  readonly accounts: AccountRepository
  readonly rooms: RoomRepository
}

export function sqliteRepositories(database: SqliteDatabase): Repositories {
  return { accounts: sqliteAccounts(database), rooms: sqliteRooms(database) }
}
