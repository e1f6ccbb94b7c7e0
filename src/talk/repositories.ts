import type { StoreDatabase } from '../database/open.ts'
import { postgresAccounts } from './accounts/postgres.ts'
import type { AccountRepository } from './accounts/repository.ts'
import { sqliteAccounts } from './accounts/sqlite.ts'
import { postgresRooms } from './rooms/postgres.ts'
import type { RoomRepository } from './rooms/repository.ts'
import { sqliteRooms } from './rooms/sqlite.ts'

/** The storage of accounts and rooms, for either engine. */
export interface Repositories {
  readonly accounts: AccountRepository
  readonly rooms: RoomRepository
}

export function repositoriesOf(database: StoreDatabase): Repositories {
  return database.engine === 'sqlite'
    ? { accounts: sqliteAccounts(database), rooms: sqliteRooms(database) }
    : { accounts: postgresAccounts(database), rooms: postgresRooms(database) }
}
