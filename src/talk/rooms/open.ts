import type { StoreDatabase } from '../../database/open.ts'
import { postgresRooms } from './postgres.ts'
import type { RoomRepository } from './repository.ts'
import { sqliteRooms } from './sqlite.ts'

/** The storage of rooms, for either engine. */
export function roomsOf(database: StoreDatabase): RoomRepository {
  return database.engine === 'sqlite' ? sqliteRooms(database) : postgresRooms(database)
}
