import { getLogger } from '@logtape/logtape'
import { type CommandLine, fromEnvironment } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import type { Migrations } from './migrations.ts'
import { PostgresDatabase } from './postgres/database.ts'
import {
  type DatabaseAddress,
  database,
  databaseConnections,
  databaseReplicas,
  POSTGRES_VARIABLES,
} from './settings.ts'
import type { SqliteDatabase } from './sqlite/database.ts'
import { openSqlite } from './sqlite/open.ts'

const log = getLogger(['stockroom', 'database'])

/** Servers wait this long at startup for a database that is starting too, in milliseconds. */
export const START_WAIT_MS = 60_000

export type StoreDatabase = SqliteDatabase | PostgresDatabase

export interface DatabaseSettings {
  readonly address: DatabaseAddress
  readonly replicas: ReturnType<typeof databaseReplicas.parse>
  readonly connections: number
}

/** Reads the settings without connecting. Throws a `SettingError`. */
export function readDatabaseSettings(line: CommandLine): DatabaseSettings {
  const address = line.value(database)
  const replicas = line.value(databaseReplicas)
  if (address.engine === 'sqlite' && replicas.length > 0) {
    throw new SettingError(`${databaseReplicas.variable}: only a PostgreSQL database has replicas`)
  }
  return { address, replicas, connections: line.value(databaseConnections) }
}

interface Opening {
  readonly waitMs?: number
  /** Whether the database must exist already. */
  readonly mustExist?: boolean
}

/**
 * Opens the database and applies the missing migrations of these parts. With `waitMs`, if PostgreSQL is unreachable, it resolves
 * all the same and keeps trying for so long in the background: see `ready`. Rejects with an `OperatorError`.
 */
export async function openDatabase(
  { address, replicas = [], connections = 1 }: Partial<DatabaseSettings> & Pick<DatabaseSettings, 'address'>,
  migrations: readonly Migrations[],
  { waitMs = 0, mustExist = false }: Opening = {},
): Promise<StoreDatabase> {
  if (address.engine === 'sqlite') {
    warnOfUnusedVariables(address.path)
    return openSqlite(address.path, migrations, { mustExist })
  }
  return PostgresDatabase.open({ address, replicas, connections, migrations, waitMs, mustExist })
}

/** `DATABASE_URL` may have been forgotten. This is no error, because other services may need the same variables. */
function warnOfUnusedVariables(path: string): void {
  for (const variable of POSTGRES_VARIABLES) {
    if (fromEnvironment(variable, text => (text === 'none' ? null : text)) === null) continue
    log.warning('{variable} has no effect on a SQLite database', { variable, path })
  }
}

/** The end of a ready line that names a new file, so that people notice a slip in its name; empty without one. */
export function newFileNote(database: StoreDatabase): string {
  return database.engine === 'sqlite' && database.newFile !== null ? `; the database ${database.newFile} is new` : ''
}
