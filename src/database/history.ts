import type { ChangeHistory } from './change.ts'
import type { StoreDatabase } from './open.ts'
import { PostgresHistory } from './postgres/history.ts'
import { SqliteHistory } from './sqlite/history.ts'

/** The change log of a database, for followers. */
export function historyOf(database: StoreDatabase): ChangeHistory {
  return database.engine === 'sqlite' ? new SqliteHistory(database) : new PostgresHistory(database)
}
