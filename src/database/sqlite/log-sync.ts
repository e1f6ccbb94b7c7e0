import type { Database } from 'bun:sqlite'
import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
import type { Awaitable } from '../../awaitable.ts'
import { Histogram, SECONDS } from '../../metrics/histogram.ts'
import { timed } from '../../tracing/timeline.ts'
import type { Commits } from './commits.ts'
import type { FileCondition } from './condition.ts'
import { companionFile } from './connection.ts'
import { isWithin, type LogPosition, type LogRecord } from './log-record.ts'

/**
 * Syncs that take less time than this on average block the event loop. Handing them to another thread takes nearly as long, and
 * the writes of clients that arrive meanwhile would need a commit of their own.
 */
const BLOCKING_MAX_MS = 0.5
/** The weight of one sync in the running average, and the longest duration that counts: even fast disks are slow sometimes. */
const WEIGHT = 1 / 16
const COUNTED_MAX_MS = 4
/**
 * While syncs do not block, one of this many does if they take less than this time, to measure whether the disk has become faster.
 * For a slower disk, those on another thread tell.
 */
const MEASURED_INTERVAL = 64
const MEASURED_MAX_MS = 1

interface Waiting {
  readonly durable: () => void
  readonly failed: (error: unknown) => void
}

/**
 * Syncs the write-ahead log to the disk after commits. SQLite would do so within each commit (`synchronous=FULL`), and block
 * the event loop for as long as the disk takes. Here, a slow disk is waited for on another thread, while requests are served.
 *
 * A commit is durable when a sync that began after it has ended. Commits meanwhile share the next sync. After a power cut,
 * SQLite finds the durable commits by their checksums, and perhaps later ones.
 */
export class LogSync {
  /** The path of the write-ahead log. */
  readonly path: string
  /** The durations of all syncs. */
  readonly seconds = new Histogram(SECONDS)
  readonly #file: number
  readonly #databaseFile: number
  readonly #commits: Commits
  readonly #record: LogRecord
  readonly #condition: FileCondition
  readonly #isDiskBusy: () => boolean
  /** The end of the part of the log that is on the disk, as far as this process knows. */
  #durable: LogPosition | null = null
  /** A later sync would succeed although the disk has lost what this one could not store. */
  #failure: Error | null = null
  /** Those that the next sync on another thread is for. */
  #waiting: Waiting[] = []
  /** The end of the log when the sync on another thread began, and those that it is for. */
  #running: { readonly position: LogPosition | null; readonly waiting: Waiting[] } | null = null
  #syncing: Promise<void> | null = null
  #averageMs = 0
  #sinceMeasured = 0

  /**
   * From now on, the connection does not sync its commits itself; it must not be in a transaction. While `isDiskBusy`, no commit
   * blocks the event loop until the disk has it. If a sync fails, the disk may have lost the last commits, so further ones are
   * refused.
   */
  constructor(
    connection: Database,
    commits: Commits,
    record: LogRecord,
    condition: FileCondition,
    isDiskBusy: () => boolean,
  ) {
    connection.run('PRAGMA synchronous = NORMAL')
    this.path = companionFile(connection, '-wal')
    this.#file = openSync(this.path, 'r+')
    this.#databaseFile = openSync(companionFile(connection, ''), 'r+')
    this.#commits = commits
    this.#record = record
    this.#isDiskBusy = isDiskBusy
    this.#condition = condition
  }

  /** The average time for which a sync blocks the event loop; 0 if syncs do not block it. */
  get blockingMs(): number {
    return this.#averageMs < BLOCKING_MAX_MS ? this.#averageMs : 0
  }

  /** Call it after each commit. `durable` is called when the commit is on the disk. */
  committed(waiting: Waiting): void {
    const isMeasured = this.#averageMs < MEASURED_MAX_MS && this.#sinceMeasured >= MEASURED_INTERVAL
    if (this.#isFast || (isMeasured && this.#isIdle)) {
      try {
        this.#now()
      } catch (error) {
        waiting.failed(error)
        return
      }
      waiting.durable()
    } else {
      this.#onAnotherThread(waiting)
    }
  }

  /**
   * Waits until the log up to this position is on the disk, so that no read shows a commit that a power cut could undo; or the
   * whole log for `null`. Costs no sync if this or another process has done it. Blocks if the disk is fast, else returns a
   * promise. Throws or rejects if a sync fails.
   */
  upTo(position: LogPosition | null): Awaitable<void> {
    // After a failure, reads go on, and may show what the disk has lost.
    if (this.#failure || (position && this.#covers(position))) return
    if (this.#isFast) return this.#now()
    const running = position && this.#running && isWithin(position, this.#running.position) ? this.#running : null
    return timed('waiting for the disk', () =>
      running ? new Promise((durable, failed) => running.waiting.push({ durable, failed })) : this.untilNow(),
    )
  }

  /** Like `upTo`, for the whole log, but the sync is always on another thread. */
  async untilNow(): Promise<void> {
    if (this.#failure) return
    await new Promise<void>((durable, failed) => this.#onAnotherThread({ durable, failed }))
  }

  /** Resolves when the disk has what was copied from the log into the database file. Rejects if it fails. */
  async copied(): Promise<void> {
    const error = await new Promise<unknown>(resolve => fdatasync(this.#databaseFile, resolve))
    if (error) throw this.failed(error)
  }

  /** The disk has lost a part of the log, or of what was copied from it. Tells other processes. Returns the error for the callers. */
  failed(error: unknown): Error {
    const { position } = this.#commits
    if (position) this.#record.lost(position)
    this.#failure ??= this.#condition.afterSync(error)
    return this.#failure
  }

  /** Waits for syncs in progress. Close the connection first, which may still write. */
  async close(): Promise<void> {
    while (this.#syncing) await this.#syncing
    closeSync(this.#file)
    closeSync(this.#databaseFile)
  }

  /** Whether the log up to this position is known to be on the disk. */
  #covers(position: LogPosition): boolean {
    return position.frames === 0 || isWithin(position, this.#durable) || this.#record.covers(position)
  }

  get #isIdle(): boolean {
    return !this.#syncing && !this.#isDiskBusy()
  }

  get #isFast(): boolean {
    return this.#isIdle && this.#averageMs < BLOCKING_MAX_MS
  }

  #now(): void {
    const { position } = this.#commits
    const started = performance.now()
    try {
      fdatasyncSync(this.#file)
    } catch (error) {
      throw this.failed(error)
    }
    this.#synced(position)
    const durationMs = performance.now() - started
    this.seconds.observe(durationMs / 1_000)
    this.#count(durationMs)
    this.#sinceMeasured = 0
  }

  #count(durationMs: number): void {
    this.#averageMs += WEIGHT * (Math.min(durationMs, COUNTED_MAX_MS) - this.#averageMs)
  }

  #onAnotherThread(waiting: Waiting): void {
    this.#waiting.push(waiting)
    this.#syncing ??= this.#syncOnAnotherThread()
  }

  async #syncOnAnotherThread(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { position } = this.#commits
      const waiting = this.#waiting.splice(0)
      this.#running = { position, waiting }
      this.#sinceMeasured += 1
      const started = performance.now()
      const error = await new Promise<unknown>(resolve => fdatasync(this.#file, resolve))
      const durationMs = performance.now() - started
      this.seconds.observe(durationMs / 1_000)
      // A sync that blocks takes no longer. If this did not count, a few slow syncs would keep a fast disk's commits here for long.
      if (durationMs < this.#averageMs) this.#count(durationMs)
      const failure = error ? this.failed(error) : this.#failure
      if (!failure) this.#synced(position)
      for (const { durable, failed } of waiting) {
        if (failure) failed(failure)
        else durable()
      }
    }
    this.#running = null
    this.#syncing = null
  }

  /** Tells other processes, too. */
  #synced(position: LogPosition | null): void {
    if (position === null || isWithin(position, this.#durable)) return
    this.#durable = position
    this.#record.synced(position)
  }
}
