import { OperatorError } from '../program/operator-error.ts'

/**
 * The database cannot be used now: it is locked, full or unreachable. The statement was not executed, unless the connection
 * broke or timed out during a write; then the outcome is unknown.
 */
export class DatabaseUnavailableError extends OperatorError {
  override name = 'DatabaseUnavailableError'
}

/** A server that has some of the rows cannot be used. The statement was not executed. */
export class WorkerLostError extends DatabaseUnavailableError {
  override name = 'WorkerLostError'
}

/** The database is damaged. Retrying does not help; somebody has to restore it. */
export class DatabaseDamagedError extends DatabaseUnavailableError {
  override name = 'DatabaseDamagedError'
  /** The engine's own message. */
  readonly reason: string

  constructor(reason: string, options?: ErrorOptions) {
    super(`the database is damaged: ${reason}; stop everything that uses it and restore the latest backup`, options)
    this.reason = reason
  }
}

/** Another database was put in place of the one in use. Only a restart helps. */
export class DatabaseReplacedError extends DatabaseUnavailableError {
  override name = 'DatabaseReplacedError'

  constructor(lost: string) {
    super(`the database was replaced while it was in use: ${lost} was removed or replaced; start again`)
  }
}
