import { SQLiteError } from 'bun:sqlite'
import { accessSync, constants, existsSync, realpathSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { errorCode } from '../../program/error-message.ts'
import { OperatorError } from '../../program/operator-error.ts'
import { DatabaseDamagedError, DatabaseUnavailableError } from '../errors.ts'

/** SQLite's codes for a file that is busy, full, gone or damaged. All other codes mean a bug of ours. */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|CORRUPT|NOTADB)/

/** SQLite's codes for a damaged file. */
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/

/** Space that a start needs beside the file, for the index of the log. */
const START_MIN_BYTES = 65_536

export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && DAMAGED.test(error.code ?? '')
}

export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_BUSY')
}

/** Whether the disk could not store what SQLite had written. */
export function isFailedSync(error: unknown): boolean {
  return error instanceof SQLiteError && error.code === 'SQLITE_IOERR_FSYNC'
}

/** Says why a row was refused because of what is in it; `null` for all other errors. */
export function reasonOfRefusedRow(error: unknown): string | null {
  if (!(error instanceof SQLiteError && error.code?.startsWith('SQLITE_CONSTRAINT'))) return null
  return error.code === 'SQLITE_CONSTRAINT_FOREIGNKEY'
    ? `${error.message}; PRAGMA foreign_key_check lists such rows`
    : error.message
}

/** The error for the caller: problems with the file become a `DatabaseUnavailableError`; other errors are bugs of ours. */
export function translated(error: unknown): unknown {
  if (!(error instanceof SQLiteError && UNAVAILABLE.test(error.code ?? ''))) return error
  if (isDamage(error)) return new DatabaseDamagedError(error.message, { cause: error })
  const reason = isBusy(error) ? 'another program has locked it; wait for that program, or end it' : error.message
  return new DatabaseUnavailableError(`the database cannot be used: ${reason}`, { cause: error })
}

/** The error for the operator if the file cannot be opened. */
export function unusable(error: unknown, path: string): unknown {
  if (error instanceof SQLiteError && error.code === 'SQLITE_NOTADB') {
    return new OperatorError(`${path} is not a database`)
  }
  if (error instanceof SQLiteError) {
    // SQLite makes its log beside the file itself.
    const folder = dirname(existsSync(path) ? realpathSync(path) : path)
    return new OperatorError(`cannot open the database ${resolve(path)}: ${causeOf(error, folder)}`)
  }
  if (error instanceof Error && 'syscall' in error) {
    return new OperatorError(`cannot open the database ${resolve(path)}: ${error.message}`)
  }
  return error
}

/** SQLite says "disk I/O error" if the disk is full, and that or "readonly database" if it cannot make its log or journal. */
function causeOf({ code = '', message }: SQLiteError, folder: string): string {
  if (/^SQLITE_(IOERR|FULL)/.test(code) && freeBytes(folder) < START_MIN_BYTES) return 'the disk is full'
  if (/^SQLITE_(READONLY|CANTOPEN|IOERR)/.test(code) && !isWritable(folder))
    return `the folder ${folder} is not writable`
  return message
}

/** The free space of the disk that has the file or folder. */
export function freeBytes(path: string): number {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    // It may be gone, too.
    return Number.POSITIVE_INFINITY
  }
}

/** Whether a file or folder is writable, or not there. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch (error) {
    return errorCode(error) === 'ENOENT'
  }
}
