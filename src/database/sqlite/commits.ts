import type { Database } from 'bun:sqlite'
import { closeSync, openSync } from 'node:fs'
import { companionFile } from './connection.ts'
import type { LogPosition } from './log-record.ts'
import { SharedWords } from './shared-words.ts'

/**
 * The header of the file that SQLite's connections share; every commit changes it.
 * https://www.sqlite.org/walformat.html#the_wal_index_header
 */
const HEADER_BYTES = 48
const HEADER_WORDS = HEADER_BYTES / Int32Array.BYTES_PER_ELEMENT
/** Places in the header, in 32-bit words: of the number of the last commit, of the number of frames, and of the salts. */
const NUMBER_PLACE = 2
const FRAMES_PLACE = 4
const SALTS_PLACE = 8

/**
 * Detects commits by any process since the last check. SQLite validates its own page cache by the same bytes, but only at
 * the start of a transaction, which takes locks. Comparing the bytes in mapped memory costs nothing that shows; a system call to
 * read them takes 7 % of a cached product, so it is only the fallback for systems whose C library is not known.
 */
export class Commits implements Disposable {
  readonly #sharedFile: number
  readonly #shared: SharedWords
  /** The header, and its copy, which a writer changes first. */
  readonly #header: Int32Array
  readonly #seen = new Int32Array(2 * HEADER_WORDS)
  #isClosed = false

  /** The connection must have read the database already, so that the shared file exists and stays. */
  constructor(connection: Database) {
    this.#sharedFile = openSync(companionFile(connection, '-shm'), 'r')
    this.#shared = new SharedWords(this.#sharedFile, 2 * HEADER_BYTES, 'read')
    this.#header = this.#shared.words
  }

  /** While it returns false, a snapshot that was taken after it last returned true is still current. */
  hasNew(): boolean {
    if (this.isAsSeen()) return false
    this.#seen.set(this.#header)
    return true
  }

  /** Whether nobody has committed since the last check. Unlike a check, this changes nothing. */
  isAsSeen(): boolean {
    // The memory is not mapped any more.
    if (this.#isClosed) return true
    if (!this.#shared.look()) return false
    // A loop, because `every` would take longer than the comparison.
    for (let place = 0; place < this.#seen.length; place += 1) {
      if (this.#header[place] !== this.#seen[place]) return false
    }
    return true
  }

  /** The end of the log at the last check; `null` if another process was changing the header. */
  get position(): LogPosition | null {
    for (let place = 0; place < HEADER_WORDS; place += 1) {
      if (this.#seen[place] !== this.#seen[HEADER_WORDS + place]) return null
    }
    const [first = 0, second = 0] = this.#seen.subarray(SALTS_PLACE)
    return { salts: [first, second], frames: this.#seen[FRAMES_PLACE] ?? 0 }
  }

  /** The number of the last commit at the last look. SQLite counts from the first opening of the file, or from a recovery. */
  get number(): number {
    return (this.#seen[NUMBER_PLACE] ?? 0) >>> 0
  }

  /** The number of frames in the log at this moment. */
  get frames(): number {
    return this.#shared.look() ? (this.#shared.words[FRAMES_PLACE] ?? 0) : 0
  }

  /** Close the connection first: closing any descriptor of a file releases all locks that the process holds on it. */
  [Symbol.dispose](): void {
    this.#isClosed = true
    this.#shared[Symbol.dispose]()
    closeSync(this.#sharedFile)
  }
}
