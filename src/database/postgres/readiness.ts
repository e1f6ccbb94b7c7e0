import { DatabaseUnavailableError } from '../errors.ts'
import { writeTrial } from '../write-trial.ts'
import type { Query } from './pool.ts'

interface Primary {
  readonly readPrimary: Query
  readonly write: Query
  /** SQL for the server that a statement runs on. */
  readonly server: string
  /** Replaces the connections of reads and writes. */
  readonly reconnect: () => void
}

/** Checks whether the primary can be read from and written to. */
export class Readiness {
  readonly #primary: Primary
  readonly #writeSucceeds: ReturnType<typeof writeTrial>
  /** The last time that a write failed because the server's disk was full, by `performance.now()`. */
  #fullAt: number | null = null

  constructor(primary: Primary) {
    this.#primary = primary
    this.#writeSucceeds = writeTrial(() =>
      primary.write('UPDATE migrations SET applied_at = applied_at WHERE name = (SELECT min(name) FROM migrations)'),
    )
  }

  diskWasFull(): void {
    this.#fullAt = performance.now()
  }

  /** Rejects while reads or writes fail. It tries a write only after a write has failed on a full disk. */
  async probe(): Promise<void> {
    const { server } = this.#primary
    const [read] = await this.#primary.readPrimary<{ server: string }>(
      `SELECT ${server} AS server FROM migrations LIMIT 1`,
    )
    // It matches no row to lock, but a read-only server refuses it anyway.
    const [written] = await this.#primary.write<{ server: string }>(`
      SELECT ${server} AS server
      FROM (SELECT) AS always LEFT JOIN (SELECT FROM migrations WHERE name = '' FOR UPDATE) AS none ON TRUE`)
    if (read?.server !== written?.server) {
      this.#primary.reconnect()
      throw new DatabaseUnavailableError('the database cannot be used: reads and writes lead to different servers')
    }
    const fullAt = this.#fullAt
    if (fullAt === null) return
    await this.#writeSucceeds(fullAt)
    if (this.#fullAt === fullAt) this.#fullAt = null
  }
}
