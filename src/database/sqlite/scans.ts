import type { Database, Statement } from 'bun:sqlite'
import type { FileCondition } from './condition.ts'
import { connectAgain, type Parameter, type Prepared, prepared, waitingForLocks } from './connection.ts'

const PAGE_CACHE_KIB = 2_048

/**
 * A separate connection for long lists. On the main one, their pages would displace frequently read pages from SQLite's page
 * cache, although each is read only once.
 */
export class Scans implements Disposable {
  readonly #connection: Database
  readonly #condition: FileCondition
  readonly #dataVersion: Statement
  readonly #syncCommits: () => void

  /** `syncCommits` blocks until all commits so far are on the disk. */
  constructor(path: string, condition: FileCondition, syncCommits: () => void) {
    condition.mustBeInPlace()
    this.#connection = connectAgain(path)
    this.#connection.run(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`)
    this.#condition = condition
    this.#dataVersion = this.#connection.prepare('PRAGMA data_version')
    this.#syncCommits = syncCommits
  }

  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row> {
    try {
      return prepared(this.#connection, sql)
    } catch (error) {
      throw this.#condition.afterRead(error)
    }
  }

  /** Runs `read` on a snapshot of all commits so far. */
  snapshot<Result>(read: () => Result): Result {
    try {
      this.#condition.mustHaveBeenInPlace()
      const shown = () => {
        // The first statement takes the snapshot.
        this.#dataVersion.get()
        this.#syncCommits()
        return read()
      }
      return waitingForLocks(this.#connection, this.#connection.transaction(shown))
    } catch (error) {
      throw this.#condition.afterRead(error)
    }
  }

  [Symbol.dispose](): void {
    this.#connection.close(true)
  }
}
