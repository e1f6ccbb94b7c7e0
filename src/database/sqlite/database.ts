import type { Database, Statement } from 'bun:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import type { Change } from '../change.ts'
import { DatabaseUnavailableError } from '../errors.ts'
import { WriteTrial } from '../write-trial.ts'
import { Commits } from './commits.ts'
import { Condition } from './condition.ts'
import { connect, type Parameter, type Prepared, prepared } from './connection.ts'
import { isBusy, translated } from './failure.ts'
import { GroupCommit, WRITE_RETRY_MS, WRITE_WAIT_MAX_MS } from './group-commit.ts'

/** Hears what a commit has changed; `unknown` for commits of other connections. */
export type ChangeListener = (changes: readonly Change[] | 'unknown') => void

/** One transaction of its own. */
export interface SqliteTransaction {
  /** Prepares a statement for as long as the transaction lasts. */
  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row>
}

/**
 * One SQLite file, opened for reading and writing by this process; others may have it open too.
 *
 * Reads and writes share a connection, since a second one would drop its page cache at every commit of the first.
 * They are synchronous, so a read never sees a transaction half done.
 */
export class SqliteDatabase implements AsyncDisposable {
  readonly engine = 'sqlite'
  /** It is open from the beginning. */
  readonly ready = Promise.resolve()
  readonly #path: string
  readonly #connection: Database
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #dataVersion: Statement<{ data_version: number }, []>
  readonly #commits: Commits
  readonly #condition: Condition
  readonly #writes: GroupCommit
  readonly #trial = new WriteTrial(() => this.write(() => this.#writeLittle()))
  readonly #selectMigration: Statement
  readonly #userVersion: Statement<{ user_version: number }, []>
  readonly #changeListeners: ChangeListener[] = []
  #seenVersion = 0
  #reading = false
  /** Whether listeners know of each commit up to the last look. */
  #hasHeardOfAll = false

  constructor(path: string, connection: Database) {
    this.#path = path
    this.#connection = connection
    this.#begin = connection.prepare('BEGIN')
    this.#commit = connection.prepare('COMMIT')
    this.#dataVersion = connection.prepare('PRAGMA data_version')
    this.#selectMigration = connection.prepare('SELECT name FROM migrations LIMIT 1')
    this.#userVersion = connection.prepare('PRAGMA user_version')
    this.#commits = new Commits(connection)
    this.#condition = new Condition(connection, path)
    this.#writes = new GroupCommit(connection, this.#condition, {
      begins: () => this.#endSnapshot(),
      ended: changes => this.#changed(changes),
    })
  }

  /** Prepares a statement for good; `?` stands for a parameter. */
  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row> {
    return prepared(this.#connection, sql)
  }

  /**
   * All that `read` asks is of one moment, whatever other processes write meanwhile.
   *
   * Reads of one turn of the event loop share that moment, and with it the locks that SQLite takes and gives back by
   * system calls, for as long as nobody commits. A turn also serves requests that arrive after its beginning, so each
   * read looks for commits anew: none misses a write that was acknowledged before its request came.
   */
  snapshot<Result>(read: () => Result): Result {
    try {
      // Before a snapshot begins, too: what is committed after this look ends it.
      this.#lookForCommits()
      if (!this.#reading) this.#beginSnapshot()
      return read()
    } catch (error) {
      // If the version could not be read, nobody has heard of the changes that this snapshot shows.
      this.#reading = false
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK')
      throw this.#condition.afterRead(error)
    }
  }

  /**
   * Returns what `look` finds when listeners know of every commit up to now, those of other processes included. Costs one
   * system call if nobody has committed.
   */
  current<Result>(look: () => Result): Result {
    this.#lookForCommits()
    this.#condition.mustHaveBeenInPlace()
    if (!this.#hasHeardOfAll) this.snapshot(() => {})
    return look()
  }

  /** Calls `listener` before the first read that sees a change, whichever process made it. */
  onChange(listener: ChangeListener): void {
    this.#changeListeners.push(listener)
  }

  /**
   * Does `work` in a transaction and resolves when its commit is on the disk. `work` adds what it changes to `changes`.
   *
   * Group commit: all writes that wait share one transaction and one fsync. Each has a savepoint of its own, so one that
   * throws is undone and rejected alone. Rejects with `DatabaseUnavailableError` when the file stays locked, or is full.
   */
  write<Result>(work: (changes: Change[]) => Result): Promise<Result> {
    return this.#writes.write(work)
  }

  /** As `write`, and overwrites the rows that `work` deletes, so that the file no longer contains them. */
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

  /**
   * Resolves while reads and writes can be done; rejects with a `DatabaseUnavailableError`. It writes only if nothing else
   * can tell.
   */
  async probe(): Promise<void> {
    this.#condition.mustLookWritable()
    this.snapshot(() => this.#selectMigration.get())
    if (!this.#condition.isInDoubt) return
    const { failedAt } = this.#condition
    await this.#trial.passed(failedAt)
    if (this.#condition.failedAt === failedAt) this.#condition.recovered()
  }

  /** Writes a consistent copy of the whole database into a new file, while others go on reading and writing. */
  copyInto(path: string): void {
    try {
      this.#endSnapshot()
      this.#connection.prepare<null, [string]>('VACUUM INTO ?').run(path)
    } catch (error) {
      throw this.#condition.afterRead(error)
    }
  }

  /**
   * Does `work` in one transaction of any length, on a connection of its own, and commits it when `work` resolves.
   * One that reads sees the moment of its beginning; one that writes keeps every other writer waiting.
   */
  async bulk<Result>(
    access: 'reading' | 'writing',
    work: (transaction: SqliteTransaction) => Promise<Result>,
  ): Promise<Result> {
    const inTransaction = async () => {
      if (access === 'writing') this.#condition.mustBeSound()
      using own = connect(this.#path)
      if (access === 'reading') own.run('BEGIN')
      else await beginImmediate(own)
      try {
        // The moment is that of the first read.
        own.run('SELECT count(*) FROM migrations')
        const result = await work({ prepare: sql => prepared(own, sql) })
        if (access === 'writing') this.#condition.mustBeSound()
        own.run('COMMIT')
        return result
      } finally {
        if (own.inTransaction) own.run('ROLLBACK')
      }
    }
    try {
      return await (access === 'reading' ? inTransaction() : this.#writes.beside(inTransaction))
    } catch (error) {
      throw access === 'reading' ? this.#condition.afterRead(error) : this.#condition.afterWrite(error)
    }
  }

  /** Finishes the writes that wait, moves the log into the file, and closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writes.finished()
    this.#endSnapshot()
    try {
      // Another process may be reading: then the log stays for whoever closes the file last.
      this.#connection.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // On a full disk the log stays where it is, and the next start takes it up.
      if (!(translated(error) instanceof DatabaseUnavailableError)) throw error
    }
    this.#connection.close()
    this.#commits[Symbol.dispose]()
  }

  #lookForCommits(): void {
    if (!this.#commits.haveCome()) return
    this.#hasHeardOfAll = false
    this.#endSnapshot()
  }

  #beginSnapshot(): void {
    this.#condition.mustHaveBeenInPlace()
    this.#begin.run()
    this.#reading = true
    setImmediate(() => this.#endSnapshot())
    // The first statement fixes the moment. SQLite counts the commits of other connections, and only those.
    const version = this.#dataVersion.get()?.data_version ?? 0
    if (version !== this.#seenVersion) this.#changed('unknown')
    this.#seenVersion = version
    this.#hasHeardOfAll = true
  }

  /** Writes the first page with what it has already, in a member of the header that SQLite leaves to programs. */
  #writeLittle(): void {
    const version = this.#userVersion.get()?.user_version ?? 0
    this.#connection.run(`PRAGMA user_version = ${version}`)
  }

  #changed(changes: readonly Change[] | 'unknown'): void {
    for (const listener of this.#changeListeners) listener(changes)
  }

  #endSnapshot(): void {
    if (!this.#reading) return
    this.#reading = false
    this.#commit.run()
  }
}

/** Takes the write lock. While another process has it, tries again beside the event loop. */
async function beginImmediate(connection: Database): Promise<void> {
  connection.run('PRAGMA busy_timeout = 0')
  const end = performance.now() + WRITE_WAIT_MAX_MS
  while (!connection.inTransaction) {
    try {
      connection.run('BEGIN IMMEDIATE')
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      await wait(WRITE_RETRY_MS)
    }
  }
}
