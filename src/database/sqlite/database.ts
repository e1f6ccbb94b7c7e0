import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { type Awaitable, whenBothThere } from '../../awaitable.ts'
import type { Change, ChangeListener } from '../change.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import { writeTrial } from '../write-trial.ts'
import { ChangeLog } from './change-log.ts'
import { Checkpoints } from './checkpoints.ts'
import { closeFile, copyLog } from './close.ts'
import { Commits } from './commits.ts'
import { FileCondition } from './condition.ts'
import {
  connectAgain,
  failOnTakenLocks,
  LOG_MAX_BYTES,
  type Parameter,
  type Prepared,
  prepared,
  tellOfHolders,
} from './connection.ts'
import { isFailedSync } from './failure.ts'
import { GroupCommit, WRITE_RETRY_MS, WRITE_WAIT_MAX_MS } from './group-commit.ts'
import { LogRecord } from './log-record.ts'
import { LogSize } from './log-size.ts'
import { LogSync } from './log-sync.ts'
import { ReadingThread } from './reading-thread.ts'
import { openScans, type Scans } from './scans.ts'
import type { Step, Steps } from './steps.ts'
import { TurnSnapshot } from './turn-snapshot.ts'
import { whenUnlocked } from './unlocked.ts'
import { WritingThread } from './writing-thread.ts'

export type SqliteFigures = SqliteDatabase['figures']

/** A transaction on a connection of its own. */
export interface SqliteTransaction {
  /** Prepares a statement that is valid until the transaction ends. */
  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row>
}

/** A transaction of any length. */
export interface SqliteBulkTransaction extends SqliteTransaction {
  /** Logs all that it changes, before its end. Without this, its commit clears every cache. */
  log(changes: readonly Change[]): void
}

/**
 * A SQLite file, opened for reading and writing. Other processes may have it open too.
 *
 * Reads and writes share a connection, because a second one would drop its page cache at every commit of the first. They
 * are synchronous, so a read never sees an unfinished transaction.
 */
export class SqliteDatabase implements AsyncDisposable {
  readonly engine = 'sqlite'
  /** The whole path of a file that this process has made. */
  readonly newFile: string | null
  /** The file is open from the beginning. */
  readonly ready = Promise.resolve()
  /** For statements that may take longer than 10 ms. */
  readonly beside: ReadingThread
  readonly #path: string
  readonly #connection: Database
  readonly #commits: Commits
  readonly #log: ChangeLog
  readonly #record: LogRecord
  readonly #condition: FileCondition
  readonly #sync: LogSync
  readonly #snapshot: TurnSnapshot
  readonly #checkpoints: Checkpoints
  readonly #logSize: LogSize
  readonly #writing: WritingThread
  /** The statements of steps, by their SQL. */
  readonly #steps = new Map<string, Prepared<Parameter[], unknown>>()
  readonly #writes: GroupCommit
  readonly #writeSucceeds = writeTrial(() => this.write(() => this.#tryWrite()))
  #scans: Scans | null = null

  constructor(path: string, connection: Database, newFile: string | null) {
    this.#path = path
    this.newFile = newFile
    this.#connection = connection
    this.#commits = new Commits(connection)
    this.#log = new ChangeLog(connection, this.#commits)
    this.#record = new LogRecord(path)
    this.#condition = new FileCondition(connection, path, () => this.#isLogLost())
    this.#sync = new LogSync(
      connection,
      this.#commits,
      this.#record,
      this.#condition,
      () => this.#checkpoints.copying !== null,
    )
    this.#snapshot = new TurnSnapshot(connection, this.#commits, this.#sync)
    this.#checkpoints = new Checkpoints(path, this.#commits, this.#condition, this.#sync, work =>
      this.#writes.beside(work),
    )
    this.#logSize = new LogSize(connection)
    this.beside = new ReadingThread(path, this.#condition, () => this.#commitsOnDisk())
    this.#writing = new WritingThread(path, this.#condition)
    this.#writes = new GroupCommit(connection, this.#condition, this.#sync, this.#snapshot, this.#log, () => {
      this.#checkpoints.committed()
      this.#logSize.committed()
    })
  }

  get figures() {
    return { ...this.#writes.figures, logBytes: this.#logSize.bytes }
  }

  /** Prepares a statement that is valid until the database is closed. `?` stands for a parameter. */
  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row> {
    return this.#condition.reading(() => prepared(this.#connection, sql))
  }

  /**
   * Runs `read` for a client, on a snapshot which concurrent writes do not change. Once its result is there, all commits of the
   * snapshot are on the disk, those of other processes included: a promise waits for a slow disk.
   */
  snapshot<Result>(read: () => Result): Awaitable<Result> {
    this.#snapshot.noteRead()
    return this.durable(read)
  }

  /** Like `snapshot`, but writes do not make way for it. */
  durable<Result>(read: () => Result): Awaitable<Result> {
    return this.look(() => whenBothThere(this.#snapshot.onDisk(), read, (_, result) => result))
  }

  /**
   * Runs `read` on a snapshot for something that shows nothing of it, since its commits may not be on the disk yet.
   *
   * Reads of one event-loop turn share the snapshot until somebody commits. A turn also serves requests that arrive after its
   * start, so each read checks for commits first: none misses a write that was acknowledged before its request arrived.
   */
  look<Result>(read: () => Result, purpose: 'read' | 'write' = 'read'): Result {
    this.#condition.mustBeOpen()
    try {
      const damage = purpose === 'write' ? this.#condition.findDamage() : null
      if (damage) throw damage
      // Check before starting a snapshot, too: a commit after this check will end it.
      this.#checkForCommits()
      if (!this.#snapshot.isOpen) {
        this.#condition.mustHaveBeenInPlace()
        this.#snapshot.begin()
        this.#log.read()
      }
      return read()
    } catch (error) {
      // If the version could not be read, listeners do not know of the changes that this snapshot shows.
      this.#snapshot.abandon()
      throw this.#condition.afterRead(error)
    }
  }

  /** For long lists. Opened when it is first needed. */
  get scans(): Scans {
    this.#scans ??= this.#condition.reading(() => openScans(this.#path, this.#condition, () => this.#commitsOnDisk()))
    return this.#scans
  }

  /**
   * Returns the result of `look`, after telling listeners of every commit so far, including those of other processes. Costs
   * one system call if nobody has committed.
   */
  current<Result>(look: () => Result): Result {
    this.#snapshot.noteRead()
    this.#checkForCommits()
    this.#condition.mustHaveBeenInPlace()
    if (!this.#log.isRead) this.look(() => {})
    return look()
  }

  /** Calls `listener` before the first read that sees a change by any process. */
  onChange(listener: ChangeListener): void {
    this.#log.onChange(listener)
  }

  /**
   * Runs `work` in a transaction and resolves when the commit is durable. `work` adds its changes to `changes`.
   *
   * Group commit: all waiting writes share one transaction and one sync of the log. If one throws, only that one
   * is rolled back and rejected. `work` may be called again. Rejects with a `DatabaseUnavailableError` if the file stays locked
   * or the disk is full.
   */
  write<Result>(work: (changes: Change[]) => Result): Promise<Result> {
    return this.#writes.write(work)
  }

  /** Like `write`, in these steps, which return whether they have changed anything. `work` may be called again. */
  writeSteps(work: () => Steps<boolean>): Promise<'done'> {
    return this.write(() => {
      const steps = work()
      let next = steps.next([])
      while (!next.done) {
        const { sql, each } = next.value
        const statement = this.#steps.getOrInsertComputed(sql, () => this.prepare<Parameter[], unknown>(sql))
        next = steps.next(each.flatMap(parameters => statement.all(...parameters)))
      }
      return 'done'
    })
  }

  /**
   * Like `writeSteps`, for work that may take longer than 10 ms: it runs on a thread, and all other writers wait. Does not wait for
   * the disk. Resolves to `busy` if another process holds the write lock.
   */
  async writeStepsBeside(work: () => Steps<boolean>): Promise<'done' | 'busy'> {
    // The writes that wait come first.
    await turn()
    if (this.#writes.isClosed) throw new DatabaseUnavailableError('the database is closed')
    if (this.#writes.waitsForLock) return 'busy'
    try {
      const outcome = await this.#writes.beside(() => this.#writing.write(work(), () => this.#logStep([])))
      this.#checkpoints.committed()
      return outcome
    } catch (error) {
      throw this.#condition.afterWrite(error)
    }
  }

  /** Like `write`, but overwrites the rows that `work` deletes, so that the file no longer contains them. */
  erase<Result>(work: () => Result): Promise<Result> {
    return this.write(() => {
      this.#connection.run('PRAGMA secure_delete = ON')
      try {
        return work()
      } finally {
        this.#connection.run('PRAGMA secure_delete = OFF')
      }
    })
  }

  /** Resolves while reads and writes succeed; rejects with a `DatabaseUnavailableError`. Writes only if nothing else can tell. */
  async probe(): Promise<void> {
    this.#condition.mustLookWritable()
    await this.snapshot(() => this.#connection.query('SELECT name FROM migrations LIMIT 1').get())
    await this.#condition.mustTakeWrites(this.#writeSucceeds)
  }

  /** Writes a consistent copy of the whole database into a new file, while other processes read and write. */
  copyInto(path: string): void {
    this.#condition.reading(() => {
      this.#snapshot.end()
      this.#connection.prepare<null, [string]>('VACUUM INTO ?').run(path)
      this.#condition.mustBeInPlace()
    })
  }

  /** Runs `work` on a snapshot of all commits so far, for any length of time, on a connection of its own. */
  async bulkRead<Result>(work: (transaction: SqliteTransaction) => Promise<Result>): Promise<Result> {
    try {
      this.#condition.mustBeInPlace()
      using own = connectAgain(this.#path)
      own.run('BEGIN')
      // The first read takes the snapshot.
      own.run('SELECT count(*) FROM migrations')
      await this.#commitsOnDisk()
      const result = await work({ prepare: sql => prepared(own, sql) })
      this.#condition.mustBeInPlace()
      return result
    } catch (error) {
      throw this.#condition.afterRead(error)
    }
  }

  /**
   * Runs `work` in one transaction of any length, on a connection of its own, and commits when `work` resolves. All other writers
   * wait. A loading transaction may only store rows whose references it has checked itself, because SQLite's own check takes a
   * third of the time.
   */
  async bulk<Result>(
    access: 'writing' | 'loading',
    work: (transaction: SqliteBulkTransaction) => Promise<Result>,
  ): Promise<Result> {
    const inTransaction = async () => {
      this.#condition.mustBeSound()
      // Closing it rolls back what is not committed.
      using own = connectAgain(this.#path)
      if (access === 'loading') own.run('PRAGMA foreign_keys = OFF')
      failOnTakenLocks(own)
      await whenUnlocked(() => own.run('BEGIN IMMEDIATE'), {
        maxMs: WRITE_WAIT_MAX_MS,
        pauseMs: WRITE_RETRY_MS,
        waits: () => tellOfHolders(this.#path),
      })
      const result = await work({
        prepare: sql => prepared(own, sql),
        log: changes => {
          const { sql, each } = this.#logStep(changes)
          for (const values of each) prepared(own, sql).run(...values)
        },
      })
      if (this.#logSize.bytes > LOG_MAX_BYTES) await this.#sync.untilNow()
      this.#condition.mustBeSound()
      own.run('COMMIT')
      // The log may have been removed during the commit, or another process may have found that the disk lost a part of it.
      this.#condition.mustBeSound()
      // The writes that wait would make the log longer. They wait for a copy that has begun before, too.
      await this.#checkpoints.committed(work => work())
      return result
    }
    try {
      return await this.#writes.beside(inTransaction)
    } catch (error) {
      throw this.#condition.afterWrite(error)
    }
  }

  /** Finishes waiting writes, moves the write-ahead log into the file, and closes it, unless that would do harm. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writes.close()
    await this.#checkpoints[Symbol.asyncDispose]()
    await this.#writing[Symbol.asyncDispose]()
    await this.beside[Symbol.asyncDispose]()
    // Reads went on until now.
    this.#snapshot.end()
    this.#scans?.[Symbol.dispose]()
    if (this.#condition.mustStayOpen()) return
    try {
      copyLog(this.#connection)
    } catch (error) {
      if (!isFailedSync(error)) throw error
      this.#sync.failed(error)
      return
    }
    // Another process may have found it meanwhile.
    if (this.#condition.mustStayOpen()) return
    this.#condition.closed()
    await closeFile(this.#connection, this.#path, this.#sync.path)
    this.#commits[Symbol.dispose]()
    await this.#sync.close()
    this.#record[Symbol.dispose]()
    // Otherwise another process has the file open.
    if (!existsSync(this.#sync.path)) this.#record.remove()
  }

  /** Waits until all commits so far are on the disk. */
  #commitsOnDisk(): Awaitable<void> {
    this.#checkForCommits()
    return this.#sync.upTo(this.#commits.position)
  }

  #checkForCommits(): void {
    if (this.#log.check()) this.#snapshot.end()
  }

  /** The step that logs the changes of a transaction on another connection, while that has the write lock. */
  #logStep(changes: readonly Change[]): Step {
    return this.look(() => this.#log.stepBeside(changes))
  }

  #isLogLost(): boolean {
    this.#checkForCommits()
    const { position } = this.#commits
    return position !== null && this.#record.isLost(position)
  }

  /** Rewrites `user_version`, a header field that SQLite leaves to programs, with its current value. */
  #tryWrite(): void {
    const found = this.#connection.query<{ user_version: number }, []>('PRAGMA user_version').get()
    this.#connection.run(`PRAGMA user_version = ${found?.user_version ?? 0}`)
  }
}
