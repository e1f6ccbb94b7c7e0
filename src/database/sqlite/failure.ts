import { SQLiteError } from 'bun:sqlite'
import { OperatorError } from '../../program/operator-error.ts'
import { DatabaseDamagedError, DatabaseUnavailableError } from '../errors.ts'

/** SQLite's codes for a file that is busy, full, gone or damaged. All other codes mean a bug of ours. */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|CORRUPT|NOTADB)/

/** SQLite's codes for a damaged file. */
const DAMAGED = /^SQLITE_(CORRUPT|NOTADB)/

export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError && DAMAGED.test(error.code ?? '')
}

export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_BUSY')
}

/** The error for the caller: problems with the file become a `DatabaseUnavailableError`; other errors are bugs of ours. */
export function translated(error: unknown): unknown {
  if (!(error instanceof SQLiteError && UNAVAILABLE.test(error.code ?? ''))) return error
  if (isDamage(error)) return new DatabaseDamagedError(error.message, { cause: error })
  return new DatabaseUnavailableError(`the database cannot be used: ${error.message}`, { cause: error })
}

/** The error for the operator if the file cannot be opened. */
export function unusable(error: unknown, path: string): unknown {
  if (error instanceof SQLiteError && error.code === 'SQLITE_NOTADB') {
    return new OperatorError(`${path} is not a database`)
  }
  if (error instanceof SQLiteError || (error instanceof Error && 'syscall' in error)) {
    return new OperatorError(`cannot open the database ${path}: ${error.message}`)
  }
  return error
}
