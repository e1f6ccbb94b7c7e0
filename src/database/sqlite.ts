import { constants, Database, SQLiteError, type Statement } from 'bun:sqlite'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../operator-error.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { type Migration, sqliteMigrations } from './migrations/index.ts'

/** How long opening and migrating wait for another process that holds the file. */
const OPEN_BUSY_MS = 10_000

/** How long a statement blocks the process for another's lock. Writes wait longer, but beside the event loop. */
const STATEMENT_BUSY_MS = 50

/** How long a write waits for another process's write before the client hears of it. */
const WRITE_WAIT_MAX_MS = 10_000
const WRITE_RETRY_MS = 5

/** Writes that wait for a commit; one more is turned away. */
const WRITES_WAITING_MAX = 8_192

/** Writes that share one transaction, so that none waits long for its neighbours. */
const GROUP_MAX = 1_024

/** What SQLite keeps in a file's header for the program that it belongs to: "Stoc". */
const APPLICATION_ID = 0x53_74_6f_63

const PAGE_CACHE_KIB = 65_536
/** The log of changes is cut back to this after a checkpoint. */
const LOG_KEPT_BYTES = 67_108_864

export type Parameter = string | number | null

/** A prepared statement: the parameters it takes, and the rows it gives. */
export interface Prepared<Parameters extends Parameter[], Row = never> {
  get(...parameters: Parameters): Row | null
  all(...parameters: Parameters): Row[]
  /** Row by row. Leaving the loop early closes the cursor. */
  iterate(...parameters: Parameters): IterableIterator<Row>
  run(...parameters: Parameters): { readonly changes: number; readonly lastInsertRowid: number | bigint }
}

/** One transaction of its own. */
export interface SqliteTransaction {
  /** Prepares a statement for as long as the transaction lasts. */
  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row>
}

interface WaitingWrite {
  /** Does the work; called inside the savepoint. */
  readonly work: () => void
  /** Called when the work's commit is on the disk. */
  readonly committed: () => void
  readonly failed: (error: unknown) => void
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
  readonly #beginImmediate: Statement
  readonly #commit: Statement
  readonly #savepoint: Statement
  readonly #release: Statement
  readonly #dataVersion: Statement<{ data_version: number }, []>
  readonly #changeListeners: (() => void)[] = []
  #seenVersion = 0
  #reading = false
  #waiting: WaitingWrite[] = []
  #scheduled = false
  #busySince: number | null = null
  #idle = Promise.withResolvers<void>()

  constructor(path: string, connection: Database) {
    this.#path = path
    this.#connection = connection
    this.#begin = connection.prepare('BEGIN')
    this.#beginImmediate = connection.prepare('BEGIN IMMEDIATE')
    this.#commit = connection.prepare('COMMIT')
    this.#savepoint = connection.prepare('SAVEPOINT write')
    this.#release = connection.prepare('RELEASE write')
    this.#dataVersion = connection.prepare('PRAGMA data_version')
  }

  /** Prepares a statement for good; `?` stands for a parameter. */
  prepare<Parameters extends Parameter[], Row = never>(sql: string): Prepared<Parameters, Row> {
    return prepared(this.#connection, sql)
  }

  /**
   * All that `read` asks is of one moment, whatever other processes write meanwhile.
   *
   * Reads of one turn of the event loop share that moment, and with it the locks that SQLite takes and gives back by
   * system calls. None can miss a write that was acknowledged before its request came.
   */
  snapshot<Result>(read: () => Result): Result {
    try {
      if (!this.#reading) {
        this.#beginSnapshot()
      }
      return read()
    } catch (error) {
      throw translated(error)
    }
  }

  /** Calls `listener` before the first read that sees a change, whichever process made it. */
  onChange(listener: () => void): void {
    this.#changeListeners.push(listener)
  }

  /**
   * Does `work` in a transaction and resolves when its commit is on the disk.
   *
   * Group commit: all writes that wait share one transaction and one fsync. Each has a savepoint of its own, so one that
   * throws is undone and rejected alone. Rejects with `DatabaseUnavailableError` when the file stays locked, or is full.
   */
  write<Result>(work: () => Result): Promise<Result> {
    if (this.#waiting.length >= WRITES_WAITING_MAX) {
      return Promise.reject(new DatabaseUnavailableError(`${WRITES_WAITING_MAX} writes are waiting already`))
    }
    return new Promise<Result>((resolve, reject) => {
      let result: Result
      this.#waiting.push({
        work: () => {
          result = work()
        },
        committed: () => resolve(result),
        failed: error => reject(translated(error)),
      })
      this.#schedule()
    })
  }

  /** Writes a consistent copy of the whole database into a new file, while others go on reading and writing. */
  copyInto(path: string): void {
    try {
      this.#endSnapshot()
      this.#connection.prepare<null, [string]>('VACUUM INTO ?').run(path)
    } catch (error) {
      throw translated(error)
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
    try {
      using own = connect(this.#path)
      own.run(access === 'reading' ? 'BEGIN' : 'BEGIN IMMEDIATE')
      try {
        // The moment is that of the first read.
        own.run('SELECT count(*) FROM migrations')
        const result = await work({ prepare: sql => prepared(own, sql) })
        own.run('COMMIT')
        return result
      } finally {
        if (own.inTransaction) own.run('ROLLBACK')
      }
    } catch (error) {
      throw translated(error)
    }
  }

  /** Finishes the writes that wait, moves the log into the file, and closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#scheduled) await this.#idle.promise
    this.#endSnapshot()
    try {
      // Another process may be reading: then the log stays for whoever closes the file last.
      this.#connection.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // On a full disk the log stays where it is, and the next start takes it up.
      if (!(translated(error) instanceof DatabaseUnavailableError)) throw error
    }
    this.#connection.close()
  }

  #beginSnapshot(): void {
    this.#begin.run()
    this.#reading = true
    setImmediate(() => this.#endSnapshot())
    // SQLite counts the commits of other connections, and only those.
    const version = this.#dataVersion.get()?.data_version ?? 0
    if (version !== this.#seenVersion) this.#changed()
    this.#seenVersion = version
  }

  #changed(): void {
    for (const listener of this.#changeListeners) listener()
  }

  #endSnapshot(): void {
    if (!this.#reading) return
    this.#reading = false
    this.#commit.run()
  }

  #schedule(delayMs = 0): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#idle = Promise.withResolvers<void>()
    const commitGroup = () => {
      this.#scheduled = false
      this.#commitGroup()
      if (!this.#scheduled) this.#idle.resolve()
    }
    // After this turn of the event loop, so that all requests that have arrived go into one group.
    if (delayMs === 0) setImmediate(commitGroup)
    else setTimeout(commitGroup, delayMs)
  }

  #commitGroup(): void {
    this.#endSnapshot()
    if (!this.#beginGroup()) return
    const group = this.#waiting.splice(0, GROUP_MAX)
    const done: WaitingWrite[] = []
    try {
      for (const write of group) {
        if (this.#doInSavepoint(write)) done.push(write)
      }
      this.#commit.run()
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.run('ROLLBACK')
      // Those that failed alone were told so already; a promise settles once.
      for (const write of group) write.failed(error)
      done.length = 0
    }
    this.#changed()
    for (const write of done) write.committed()
    if (this.#waiting.length > 0) this.#schedule()
  }

  /** Takes the write lock. While another process has it, tries again a little later and lets reads go on. */
  #beginGroup(): boolean {
    try {
      this.#mustBeInPlace()
      this.#beginImmediate.run()
      this.#busySince = null
      return true
    } catch (error) {
      this.#busySince ??= performance.now()
      if (isBusy(error) && performance.now() - this.#busySince < WRITE_WAIT_MAX_MS) {
        this.#schedule(WRITE_RETRY_MS)
        return false
      }
      this.#busySince = null
      for (const write of this.#waiting.splice(0)) write.failed(error)
      return false
    }
  }

  /** SQLite goes on writing into a file that was deleted, where nobody would find it again. */
  #mustBeInPlace(): void {
    const isMoved = new Int32Array(2)
    this.#connection.fileControl(constants.SQLITE_FCNTL_HAS_MOVED, isMoved)
    if (isMoved[0] !== 0) {
      throw new DatabaseUnavailableError('the database cannot be used: its file was deleted, moved or replaced')
    }
  }

  /** True when the work was done; false when it threw and only its own changes were undone. */
  #doInSavepoint(write: WaitingWrite): boolean {
    this.#savepoint.run()
    try {
      write.work()
      this.#release.run()
      return true
    } catch (error) {
      // Some errors, as of a full disk, have rolled back the whole transaction: then nobody's write is done.
      if (!this.#connection.inTransaction) throw error
      this.#connection.run('ROLLBACK TO write')
      this.#release.run()
      write.failed(error)
      return false
    }
  }
}

/**
 * Opens the file, makes it when it is not there, and brings its tables up to date.
 * Throws an `OperatorError` that says what is wrong with the file.
 */
export function openSqlite(path: string): SqliteDatabase {
  try {
    makeFile(path)
    return new SqliteDatabase(path, migrated(connect(path), sqliteMigrations, path))
  } catch (error) {
    throw unusable(error, path)
  }
}

/** Opens a file that must be there already. */
export function openExistingSqlite(path: string): SqliteDatabase {
  try {
    closeSync(openSync(path, 'r'))
  } catch (error) {
    throw unusable(error, path)
  }
  return openSqlite(path)
}

/** The file is made for its owner alone: it holds people's data. SQLite gives its companions the same mode. */
function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  closeSync(openSync(path, 'a', 0o600))
}

function connect(path: string): Database {
  const connection = new Database(path, { strict: true })
  // First of all: the statements after it may themselves meet a lock.
  connection.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
  // Before anything is changed in the file.
  if (isOfAnotherProgram(connection)) throw new OperatorError(`${path} is a database of another program`)
  connection.run('PRAGMA journal_mode = WAL')
  connection.run('PRAGMA synchronous = FULL')
  connection.run('PRAGMA foreign_keys = ON')
  connection.run(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`)
  connection.run(`PRAGMA journal_size_limit = ${LOG_KEPT_BYTES}`)
  return connection
}

function prepared<Parameters extends Parameter[], Row>(connection: Database, sql: string): Prepared<Parameters, Row> {
  // Where the planner has looked at a bare parameter, SQLite plans the statement anew at each binding, which takes
  // longer than most of our reads. It does not look behind a unary plus, which changes nothing else.
  return connection.prepare<Row, Parameter[]>(sql.replaceAll('?', '+?'))
}

function isOfAnotherProgram(connection: Database): boolean {
  const id = connection.query<{ application_id: number }, []>('PRAGMA application_id').get()?.application_id
  const something = connection.query<{ name: string }, []>('SELECT name FROM sqlite_schema LIMIT 1').get()
  return id !== APPLICATION_ID && something !== null
}

/** Applies what is missing in one transaction, so that of several processes that start at once one does the work. */
function migrated(connection: Database, migrations: readonly Migration[], path: string): Database {
  connection.run('BEGIN IMMEDIATE')
  connection.run(`PRAGMA application_id = ${APPLICATION_ID}`)
  connection.run('CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL) STRICT')
  const applied = new Set(
    connection
      .query<{ name: string }, []>('SELECT name FROM migrations')
      .all()
      .map(row => row.name),
  )
  const unknown = [...applied].find(name => !migrations.some(migration => migration.name === name))
  if (unknown) {
    throw new OperatorError(`${path} was written by a newer version of stockroom (it has the migration ${unknown})`)
  }
  for (const migration of migrations.filter(candidate => !applied.has(candidate.name))) {
    connection.run(migration.sql)
    connection
      .query<null, [string, string]>('INSERT INTO migrations (name, applied_at) VALUES (?, ?)')
      .run(migration.name, new Date().toISOString())
  }
  connection.run('COMMIT')
  connection.run(`PRAGMA busy_timeout = ${STATEMENT_BUSY_MS}`)
  return connection
}

function unusable(error: unknown, path: string): unknown {
  if (error instanceof SQLiteError && error.code === 'SQLITE_NOTADB') {
    return new OperatorError(`${path} is not a database`)
  }
  if (error instanceof SQLiteError || (error instanceof Error && 'syscall' in error)) {
    return new OperatorError(`cannot open the database ${path}: ${error.message}`)
  }
  return error
}

function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && (error.code ?? '').startsWith('SQLITE_BUSY')
}

/** SQLite's codes for a file that is busy, full, gone or damaged, as against a fault in what was asked. */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PROTOCOL|CORRUPT|NOTADB)/

function translated(error: unknown): unknown {
  if (!(error instanceof SQLiteError && UNAVAILABLE.test(error.code ?? ''))) return error
  return new DatabaseUnavailableError(`the database cannot be used: ${error.message}`, { cause: error })
}
