import type { Commits } from './commits.ts'
import type { FileCondition } from './condition.ts'
import { LOG_MAX_BYTES, READ_BUSY_MS } from './connection.ts'
import { isFailedSync } from './failure.ts'
import type { LogSync } from './log-sync.ts'
import { closeInPlace, Thread } from './thread.ts'

/**
 * The write-ahead log is copied into the file when it has this many frames of a page each, 16 MiB. A page that many writes
 * changed is copied once. With SQLite's default of 1,000, a new review takes a third more system time.
 */
const FRAMES = 4_000
/** A log with more frames is truncated, because it would stay as long. Truncating each one would make the next commits slower. */
const FRAMES_KEPT = LOG_MAX_BYTES / 4_096

/** Writes wait while this many frames are copied, at most, unless more and more are committed meanwhile. */
const REST_MAX = 1_000
/** If somebody reads an older state for long, more are left. Then the next try is after this many milliseconds. */
const PAUSE_MS = 1_000

/** It waits for the reads of an event-loop turn, but not for long ones. */
const COPYING = { mode: { readwrite: true }, pragmas: [`busy_timeout = ${READ_BUSY_MS}`] } as const

/** Runs `work` while no write of this process is in a transaction. */
type Alone = <Result>(work: () => Promise<Result>) => Promise<Result>

/** The answer of SQLite: whether it could not copy all, and the numbers of frames in the log and, of those, in the file. */
interface Copied {
  readonly busy: 0 | 1
  readonly log: number
  readonly checkpointed: number
}

/**
 * Copies the write-ahead log into the database file, on a thread that starts with the first copy. SQLite would do it within a
 * commit, and block the event loop until the disk has stored the pages, however many and however slow it is.
 */
export class Checkpoints {
  readonly #path: string
  readonly #commits: Commits
  readonly #condition: FileCondition
  readonly #sync: LogSync
  readonly #alone: Alone
  #thread: Thread | null = null
  #copying: Promise<void> | null = null
  #pausesUntil = 0

  constructor(path: string, commits: Commits, condition: FileCondition, sync: LogSync, alone: Alone) {
    this.#path = path
    this.#commits = commits
    this.#condition = condition
    this.#sync = sync
    this.#alone = alone
  }

  /** Resolves when the log has been copied; `null` while that is not done. */
  get copying(): Promise<void> | null {
    return this.#copying
  }

  /** Call it after each commit, outside of transactions. Returns the copy that it begins. */
  committed(alone = this.#alone): Promise<void> | null {
    if (this.#commits.frames < FRAMES || this.#copying || performance.now() < this.#pausesUntil) return null
    this.#copying = this.#copy(alone)
    return this.#copying
  }

  /** Waits for the thread, and ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#copying
    await this.#end()
  }

  async #copy(alone: Alone): Promise<void> {
    if (!(await this.#copiesAll(alone))) this.#pausesUntil = performance.now() + PAUSE_MS
    this.#copying = null
  }

  /**
   * An error concerns no write: the commits are in the log. But if the disk could not store pages, SQLite would not copy them
   * again, and begin a new log without them. Only a start copies all.
   */
  async #copiesAll(alone: Alone): Promise<boolean> {
    try {
      const thread = this.#thread ?? new Thread(this.#path, COPYING)
      this.#thread = thread
      // This opens the files, which may not be those of this database any more.
      await thread.all('SELECT count(*) FROM sqlite_schema')
      let meanwhile = Number.POSITIVE_INFINITY
      for (let before = meanwhile; meanwhile > REST_MAX; before = meanwhile) {
        const { busy, log, checkpointed } = await this.#run(thread, 'PASSIVE')
        // Another process copies it, or somebody reads an older state.
        if (busy === 1 || log - checkpointed > REST_MAX) return false
        // SQLite does this only if nobody has committed meanwhile. Otherwise it would do it below, with the write lock.
        await this.#sync.copied()
        meanwhile = this.#commits.frames - log
        // The disk stores no faster than others write, so they have to wait for it.
        if (meanwhile >= before) break
      }
      // With the write lock, it copies the rest and what was committed meanwhile. Then the next commit begins the log again.
      const last = this.#commits.frames > FRAMES_KEPT ? 'TRUNCATE' : 'RESTART'
      const { busy } = await alone(() => this.#run(thread, last))
      return busy === 0
    } catch (error) {
      if (isFailedSync(error)) this.#sync.failed(error)
      else this.#condition.afterRead(error)
      await this.#end()
      return false
    }
  }

  async #run(thread: Thread, mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE'): Promise<Copied> {
    // Only a start may copy a log of which the disk has lost a part, because it checks it first.
    this.#condition.mustBeSound()
    const [copied] = (await thread.all(`PRAGMA wal_checkpoint(${mode})`)) as Copied[]
    return copied ?? { busy: 1, log: 0, checkpointed: 0 }
  }

  async #end(): Promise<void> {
    const thread = this.#thread
    this.#thread = null
    await closeInPlace(thread, this.#condition)
  }
}
