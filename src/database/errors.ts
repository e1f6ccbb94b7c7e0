import { OperatorError } from '../operator-error.ts'

/**
 * The database cannot be asked now: it is locked, full or gone. Nothing of what was asked has happened, unless a connection
 * broke, or a server went silent, while a write was under way: then nobody can know.
 */
export class DatabaseUnavailableError extends OperatorError {
  override name = 'DatabaseUnavailableError'
}

/** The database is damaged. Trying again does not help: somebody has to restore it. */
export class DatabaseDamagedError extends DatabaseUnavailableError {
  override name = 'DatabaseDamagedError'
  /** In the words of the engine. */
  readonly reason: string

  constructor(reason: string, options?: ErrorOptions) {
    super(`the database is damaged: ${reason}; stop what uses it and restore the latest backup`, options)
    this.reason = reason
  }
}
