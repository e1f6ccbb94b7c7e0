import { WriteTrial } from '../write-trial.ts'

interface Statements {
  readonly read: (sql: string) => Promise<unknown>
  readonly write: (sql: string) => Promise<unknown>
}

/** Whether the server can be read from and written to. */
export class Readiness {
  readonly #statements: Statements
  readonly #trial: WriteTrial
  /** When a write last failed because the server's disk was full, by `performance.now()`. */
  #fullAt: number | null = null

  constructor(statements: Statements) {
    this.#statements = statements
    this.#trial = new WriteTrial(() =>
      statements.write('UPDATE migrations SET applied_at = applied_at WHERE name = (SELECT min(name) FROM migrations)'),
    )
  }

  diskWasFull(): void {
    this.#fullAt = performance.now()
  }

  /** Rejects while reads or writes cannot be done. It writes only after a write has failed for want of room. */
  async probe(): Promise<void> {
    await this.#statements.read('SELECT name FROM migrations LIMIT 1')
    // Finds no row to lock, and yet a server that takes no writes refuses it.
    await this.#statements.write("SELECT name FROM migrations WHERE name = '' FOR UPDATE")
    const fullAt = this.#fullAt
    if (fullAt === null) return
    await this.#trial.passed(fullAt)
    if (this.#fullAt === fullAt) this.#fullAt = null
  }
}
