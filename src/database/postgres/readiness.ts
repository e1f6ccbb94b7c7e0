import { writeTrial } from '../write-trial.ts'

interface Statements {
  readonly read: (sql: string) => Promise<unknown>
  readonly write: (sql: string) => Promise<unknown>
}

/** Checks whether the server can be read from and written to. */
export class Readiness {
  readonly #statements: Statements
  readonly #writeSucceeds: ReturnType<typeof writeTrial>
  /** The last time that a write failed because the server's disk was full, by `performance.now()`. */
  #fullAt: number | null = null

  constructor(statements: Statements) {
    this.#statements = statements
    this.#writeSucceeds = writeTrial(() =>
      statements.write('UPDATE migrations SET applied_at = applied_at WHERE name = (SELECT min(name) FROM migrations)'),
    )
  }

  diskWasFull(): void {
    this.#fullAt = performance.now()
  }

  /** Rejects while reads or writes fail. It tries a write only after a write has failed on a full disk. */
  async probe(): Promise<void> {
    await this.#statements.read('SELECT name FROM migrations LIMIT 1')
    // It matches no row to lock, but a read-only server refuses it anyway.
    await this.#statements.write("SELECT name FROM migrations WHERE name = '' FOR UPDATE")
    const fullAt = this.#fullAt
    if (fullAt === null) return
    await this.#writeSucceeds(fullAt)
    if (this.#fullAt === fullAt) this.#fullAt = null
  }
}
