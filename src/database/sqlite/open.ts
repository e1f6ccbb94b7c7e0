import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Migrations } from '../migrations.ts'
import { connect, waitLittle } from './connection.ts'
import { SqliteDatabase } from './database.ts'
import { unusable } from './failure.ts'
import { migrate } from './migrate.ts'

/**
 * Opens the file, makes it when it is not there, and brings its tables up to date.
 * Throws an `OperatorError` that says what is wrong with the file.
 */
export function openSqlite(path: string, migrations: readonly Migrations[]): SqliteDatabase {
  try {
    makeFile(path)
    const connection = connect(path)
    migrate(connection, migrations, path)
    waitLittle(connection)
    return new SqliteDatabase(path, connection)
  } catch (error) {
    throw unusable(error, path)
  }
}

/** Opens a file that must be there already. */
export function openExistingSqlite(path: string, migrations: readonly Migrations[]): SqliteDatabase {
  try {
    closeSync(openSync(path, 'r'))
  } catch (error) {
    throw unusable(error, path)
  }
  return openSqlite(path, migrations)
}

/** The file is made for its owner alone: it holds people's data. SQLite gives its companions the same mode. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  closeSync(openSync(path, 'a', 0o600))
}
