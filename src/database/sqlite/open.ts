import { closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { getLogger } from '@logtape/logtape'
import type { Migrations } from '../migrations.ts'
import { connect, waitLittle } from './connection.ts'
import { SqliteDatabase } from './database.ts'
import { unusable } from './failure.ts'
import { migrate } from './migrate.ts'

const log = getLogger(['stockroom', 'database'])

/** The bits of a file's mode by which others than its owner may use it. */
const OTHERS = 0o077

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
    warnOfOthers(path)
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

/** A new file is made for its owner alone: it holds people's data. SQLite gives its companions the same mode. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  closeSync(openSync(path, 'a', 0o600))
}

/** A file that is there keeps its mode, which somebody may have given it on purpose. */
function warnOfOthers(path: string): void {
  const { mode } = statSync(path)
  // Windows has no such modes.
  if (process.platform === 'win32' || (mode & OTHERS) === 0) return
  log.warning('other users of this machine may use the database file; chmod 600 it while nothing has it open', {
    path,
    mode: (mode & 0o777).toString(8),
  })
}
