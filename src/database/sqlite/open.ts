import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { getLogger } from '@logtape/logtape'
import type { Migrations } from '../migrations.ts'
import { connect, failOnTakenLocks } from './connection.ts'
import { SqliteDatabase } from './database.ts'
import { unusable } from './failure.ts'
import { migrate } from './migrate.ts'

const log = getLogger(['stockroom', 'database'])

/** The permission bits of other users. */
const OTHERS = 0o077

/**
 * Opens the file, or creates it, and applies the missing migrations. Rejects with an `OperatorError` that says what is wrong with
 * the file.
 */
export async function openSqlite(path: string, migrations: readonly Migrations[]): Promise<SqliteDatabase> {
  try {
    createFile(path)
    const connection = await connect(path)
    await migrate(connection, migrations, path)
    failOnTakenLocks(connection)
    warnOfOtherUsers(path)
    return new SqliteDatabase(path, connection)
  } catch (error) {
    throw unusable(error, path)
  }
}

/** Opens a file that must exist already. */
export async function openExistingSqlite(path: string, migrations: readonly Migrations[]): Promise<SqliteDatabase> {
  try {
    closeSync(openSync(path, 'r'))
  } catch (error) {
    throw unusable(error, path)
  }
  return openSqlite(path, migrations)
}

/** Only the owner may use a new file, because it holds personal data. SQLite gives its companion files the same mode. */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  closeSync(openSync(path, 'a', 0o600))
}

/** An existing file keeps its mode, because somebody may have set it on purpose. */
function warnOfOtherUsers(path: string): void {
  const { mode } = statSync(path)
  // Windows has no such permission bits.
  if (process.platform === 'win32' || (mode & OTHERS) === 0) return
  log.warning('other users of this machine may use the database file; chmod 600 it while nothing has it open', {
    path,
    mode: (mode & 0o777).toString(8),
  })
}
