import { Database } from 'bun:sqlite'
import { closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { getLogger } from '@logtape/logtape'
import { errorCode } from '../../program/error-message.ts'
import { OperatorError } from '../../program/operator-error.ts'
import type { Migrations } from '../migrations.ts'
import { connect, failOnTakenLocks } from './connection.ts'
import { SqliteDatabase } from './database.ts'
import { isBusy, isWritable, unusable } from './failure.ts'
import { LogRecord } from './log-record.ts'
import { migrate } from './migrate.ts'
import { giveToOwnerOfFolder } from './unused-file.ts'

const log = getLogger(['stockroom', 'database'])

/** The files beside the database while it is open, or after a crash. */
const COMPANIONS = ['-wal', '-shm', '-synced', '-journal']

/** The permission bits of other users. */
const OTHERS = 0o077

/**
 * Opens the file, or creates it unless it must exist, and applies the missing migrations. Rejects with an `OperatorError` that
 * says what is wrong with the file.
 */
export async function openSqlite(
  path: string,
  migrations: readonly Migrations[],
  { mustExist = false } = {},
): Promise<SqliteDatabase> {
  try {
    if (mustExist) mustBeThere(path)
    const isNew = !existsSync(path)
    createFile(path)
    if (isNew) giveToOwnerOfFolder(path)
    mayWriteBeside(realpathSync(path))
    replaceLostLog(path)
    const connection = await connect(path)
    await migrate(connection, migrations, path)
    failOnTakenLocks(connection)
    warnOfOtherUsers(path)
    warnOfOtherNames(path)
    return new SqliteDatabase(path, connection, isNew ? resolve(path) : null)
  } catch (error) {
    throw unusable(error, path)
  }
}

/**
 * After the disk has lost a part of the log, nobody writes. The first process that has the file for itself checks the log, as
 * SQLite does after a crash, moves it into the file, and begins a new one. A connection that was opened beside another process
 * would not check it: when the other one has ended, it would move only what that one has not copied.
 */
function replaceLostLog(path: string): void {
  if (!LogRecord.exists(path)) return
  using record = new LogRecord(path)
  if (!record.isLost()) return
  try {
    using alone = new Database(path, { readwrite: true, strict: true })
    alone.run('PRAGMA locking_mode = EXCLUSIVE')
    alone.run('PRAGMA journal_mode = DELETE')
    record.recovered()
  } catch (error) {
    // Another process uses the file.
    if (!isBusy(error)) throw error
  }
}

/** A command that makes no database may run in the wrong folder, or without the settings of the service. */
function mustBeThere(path: string): void {
  try {
    closeSync(openSync(path, 'r'))
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    throw new OperatorError(`there is no database ${resolve(path)}; name the one that your service uses`)
  }
}

/** Only the owner may use a new file, because it holds personal data. SQLite gives its companion files the same mode. */
function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  closeSync(openSync(path, 'a', 0o600))
}

/** Root may have copied them there. SQLite reads with an index of its log that it may not write to, and refuses only writes. */
function mayWriteBeside(path: string): void {
  const locked = COMPANIONS.map(ending => path + ending).find(file => !isWritable(file))
  if (locked === undefined) return
  throw new OperatorError(`${locked} is not writable; give it the owner and the mode of the database`)
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

/** Each name has a log of its own, so two processes that open the file by different names overwrite each other's changes. */
function warnOfOtherNames(path: string): void {
  if (statSync(path).nlink <= 1) return
  log.warning('the database file has another name, which is a hard link; always open it by the same one', { path })
}
