import type { Database, Statement } from 'bun:sqlite'
import type { Commits } from './commits.ts'
import type { FileCondition } from './condition.ts'
import { READ_BUSY_MS } from './connection.ts'
import { Thread } from './thread.ts'

/**
 * The write-ahead log is copied into the file when it has this many frames of a page each, 16 MiB. A page that many writes
 * changed is copied once. With SQLite's default of 1,000, a new review takes a third more system time.
 */
const FRAMES = 4_000
/** More frames than this, 64 MiB, are copied on another thread: a gigabyte takes a second. */
const FRAMES_AT_ONCE_MAX = 16_000

/** A reader may keep a thread from copying the whole log. The next one tries after this many milliseconds. */
const PAUSE_MS = 1_000

/** It waits for the reads of an event-loop turn, but not for long ones. */
const COPYING = { mode: { readwrite: true }, pragmas: [`busy_timeout = ${READ_BUSY_MS}`] } as const

/**
 * Copies the write-ahead log into the database file. SQLite would do it within a commit, and block the event loop, however long
 * the log is.
 */
export class Checkpoints {
  readonly #path: string
  readonly #commits: Commits
  readonly #condition: FileCondition
  readonly #copy: Statement
  #copying: Promise<void> | null = null
  #pausesUntil = 0

  constructor(connection: Database, path: string, commits: Commits, condition: FileCondition) {
    this.#path = path
    this.#commits = commits
    this.#condition = condition
    this.#copy = connection.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /** Resolves when the thread that copies has ended; `null` while there is none. */
  get copying(): Promise<void> | null {
    return this.#copying
  }

  /** Call it after each commit, outside of transactions. */
  committed(): void {
    const { all, uncopied } = this.#commits.frames
    if (all < FRAMES || this.#copying) return
    if (uncopied <= FRAMES_AT_ONCE_MAX) this.#copyNow()
    else if (performance.now() > this.#pausesUntil) this.#copying = this.#copyOnAnotherThread()
  }

  /** An error concerns no write: the commits are in the log. */
  #copyNow(): void {
    try {
      this.#copy.get()
    } catch (error) {
      this.#condition.afterRead(error)
    }
  }

  async #copyOnAnotherThread(): Promise<void> {
    const thread = new Thread(this.#path, COPYING)
    try {
      // This opens the files, which may not be those of this database any more.
      await thread.all('SELECT count(*) FROM sqlite_schema')
      // By the second time little is left to copy, so it holds the write lock only while it truncates the log.
      for (const mode of ['PASSIVE', 'TRUNCATE']) {
        // Only a start may copy a log of which the disk has lost a part, because it checks it first.
        this.#condition.mustBeSound()
        await thread.all(`PRAGMA wal_checkpoint(${mode})`)
      }
    } catch (error) {
      this.#condition.afterRead(error)
    }
    // If somebody has replaced a file, all stay open: at a close, SQLite would copy the log of one database into the other.
    try {
      this.#condition.mustBeInPlace()
      thread.close()
      await thread.ended
    } catch {}
    this.#pausesUntil = performance.now() + PAUSE_MS
    this.#copying = null
  }
}
