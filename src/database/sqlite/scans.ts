import type { Database } from 'bun:sqlite'
import type { Condition } from './condition.ts'
import { connect, type Parameter, type Prepared, prepared, waitingForLocks } from './connection.ts'

const PAGE_CACHE_KIB = 2_048

/**
 * A connection of its own for long lists. On the other one they would take the place of pages that are read often, and fill a
 * cache of pages that they read once.
 */
export class Scans implements Disposable {
  readonly #connection: Database
  readonly #condition: Condition

  constructor(path: string, condition: Condition) {
    this.#connection = connect(path)
    this.#connection.run(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`)
    this.#condition = condition
  }

  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row> {
    return prepared(this.#connection, sql)
  }

  /** Runs `read` in a transaction: it sees one moment, and every commit before it. */
  snapshot<Result>(read: () => Result): Result {
    try {
      this.#condition.mustHaveBeenInPlace()
      return waitingForLocks(this.#connection, this.#connection.transaction(read))
    } catch (error) {
      throw this.#condition.afterRead(error)
    }
  }

  [Symbol.dispose](): void {
    this.#connection.close()
  }
}
