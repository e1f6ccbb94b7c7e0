import type { Database } from 'bun:sqlite'
import { closeSync, openSync, readSync } from 'node:fs'
import { companionFile } from './connection.ts'

/**
 * The header of the file that SQLite's connections share; every commit changes it.
 * https://www.sqlite.org/walformat.html#the_wal_index_header
 */
const HEADER_BYTES = 48
/** The index of the last commit's number in the header, in 32-bit words. */
const NUMBER_PLACE = 2

/**
 * Detects commits by any process since the last check. SQLite validates its own page cache by the same bytes, but only at
 * the start of a transaction, which takes locks. Reading the bytes is one system call.
 */
export class Commits implements Disposable {
  readonly #sharedFile: number
  readonly #header = new Int32Array(HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT)
  readonly #seen = new Int32Array(HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT)
  #isClosed = false

  /** The connection must have read the database already, so that the shared file exists and stays. */
  constructor(connection: Database) {
    this.#sharedFile = openSync(companionFile(connection, '-shm'), 'r')
  }

  /** While it returns false, a snapshot that was taken after it last returned true is still current. */
  hasNew(): boolean {
    if (this.#isClosed) return true
    const isWhole = readSync(this.#sharedFile, this.#header, 0, HEADER_BYTES, 0) === HEADER_BYTES
    if (isWhole && this.#isAsSeen()) return false
    this.#seen.set(this.#header)
    return true
  }

  /** The number of the last commit at the last look. SQLite counts from the first opening of the file, or from a recovery. */
  get number(): number {
    return (this.#seen[NUMBER_PLACE] ?? 0) >>> 0
  }

  /** A loop, because `every` would take longer than the comparison. */
  #isAsSeen(): boolean {
    for (let place = 0; place < this.#seen.length; place += 1) {
      if (this.#header[place] !== this.#seen[place]) return false
    }
    return true
  }

  /** Close the connection first: closing any descriptor of a file releases all locks that the process holds on it. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    closeSync(this.#sharedFile)
  }
}
