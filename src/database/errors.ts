import { OperatorError } from '../operator-error.ts'

/** The database cannot be asked now: it is locked, full or gone. Nothing of what was asked has happened. */
export class DatabaseUnavailableError extends OperatorError {
  override name = 'DatabaseUnavailableError'
}
