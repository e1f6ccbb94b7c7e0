import type { Database, Statement } from 'bun:sqlite'
import type { Awaitable } from '../../awaitable.ts'
import type { Commits } from './commits.ts'
import { waitingForLocks } from './connection.ts'
import { isBusy } from './failure.ts'
import type { LogSync } from './log-sync.ts'

/**
 * The snapshot that the reads of one event-loop turn share, which saves the system calls for SQLite's locks. It is on the connection
 * that also writes, so it ends before a transaction begins.
 */
export class TurnSnapshot {
  readonly #connection: Database
  readonly #commits: Commits
  readonly #sync: LogSync
  readonly #begin: Statement
  readonly #commit: Statement
  /** Takes a snapshot; the version itself does not matter. */
  readonly #dataVersion: Statement
  #isOpen = false
  /** Whether all its commits are known to be on the disk. */
  #isOnDisk = false
  /** Whether there were reads for clients since the last group of writes. */
  #wasRead = false

  constructor(connection: Database, commits: Commits, sync: LogSync) {
    this.#connection = connection
    this.#commits = commits
    this.#sync = sync
    this.#begin = connection.prepare('BEGIN')
    this.#commit = connection.prepare('COMMIT')
    this.#dataVersion = connection.prepare('PRAGMA data_version')
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  begin(): void {
    this.#begin.run()
    this.#isOpen = true
    this.#isOnDisk = false
    setImmediate(() => this.end())
    this.#take()
  }

  /** Waits until all its commits are on the disk. */
  onDisk(): Awaitable<void> {
    if (this.#isOnDisk) return
    // Another process may have committed between the check and the snapshot.
    const onDisk = this.#sync.upTo(this.#commits.isAsSeen() ? this.#commits.position : null)
    this.#isOnDisk = !(onDisk instanceof Promise)
    return onDisk
  }

  /** Notes a read for a client: the next group of writes stays short. */
  noteRead(): void {
    this.#wasRead = true
  }

  /** Ends it before a group of writes. Returns whether there were reads for clients since the last group. */
  endForWrites(): boolean {
    this.end()
    const wasRead = this.#wasRead
    this.#wasRead = false
    return wasRead
  }

  end(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#commit.run()
  }

  /** Ends it after an error, with which SQLite may have ended it already. */
  abandon(): void {
    this.#isOpen = false
    if (this.#connection.inTransaction) this.#connection.run('ROLLBACK')
  }

  /** The first statement takes the snapshot. */
  #take(): void {
    try {
      this.#dataVersion.get()
    } catch (error) {
      if (!isBusy(error)) throw error
      // Another process was killed amid a commit, and a third one is restoring the file that connections share.
      waitingForLocks(this.#connection, () => this.#dataVersion.get())
    }
  }
}
