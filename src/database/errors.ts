import { OperatorError } from '../operator-error.ts'

/**
 * The database cannot be asked now: it is locked, full or gone. Nothing of what was asked has happened, unless a connection
 * broke, or a server went silent, while a write was under way: then nobody can know.
 */
export class DatabaseUnavailableError extends OperatorError {
  override name = 'DatabaseUnavailableError'
}
