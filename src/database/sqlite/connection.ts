import { constants, Database } from 'bun:sqlite'
import { OperatorError } from '../../program/operator-error.ts'
import { tellOfWait } from '../waiting.ts'
import { writersOrUsers } from './lock-holders.ts'
import { type Retrying, whenUnlocked } from './unlocked.ts'

/** The longest wait of a start for a lock. Another process may be migrating the file, or somebody forgot one that uses it. */
const START_MAX_MS = 60_000
/** A stop signal is heard during the pauses. */
const START_PAUSE_MS = 5

/** Lock timeout of further statements while a file is opened, which take no write lock. */
const OPEN_BUSY_MS = 10_000

/** Lock timeout of a read, which blocks the event loop. */
export const READ_BUSY_MS = 50

/** Identifies our files by SQLite's `application_id`, in the file's header: "Stoc". */
export const APPLICATION_ID = 0x53_74_6f_63

const PAGE_CACHE_KIB = 65_536
/** The write-ahead log is truncated to this size after a checkpoint. */
export const LOG_MAX_BYTES = 67_108_864

/** The settings of a read-only connection that may wait for locks. */
export const READER_PRAGMAS = [
  `busy_timeout = ${OPEN_BUSY_MS}`,
  'query_only = ON',
  `cache_size = -${PAGE_CACHE_KIB}`,
] as const

export type Parameter = string | number | null

/** A prepared statement, with the types of its parameters and rows. */
export interface Prepared<Parameters extends Parameter[], Row = never> {
  get(...parameters: Parameters): Row | null
  all(...parameters: Parameters): Row[]
  /** Reads row by row. Leaving the loop early closes the cursor. */
  iterate(...parameters: Parameters): IterableIterator<Row>
  run(...parameters: Parameters): { readonly changes: number; readonly lastInsertRowid: number | bigint }
}

/** Connects to a file that exists, perhaps without content, and makes it use a write-ahead log. */
export async function connect(path: string): Promise<Database> {
  const start = atStart(path)
  for (;;) {
    const connection = opened(path)
    failOnTakenLocks(connection)
    try {
      // Check before changing anything in the file.
      const obstacle = await whenUnlocked(() => (hasMoved(connection) ? null : obstacleIn(connection)), start)
      if (obstacle !== null) throw new OperatorError(`${path} ${obstacle}`)
      await useLog(connection, start)
      // The first read in a log takes the lock that keeps a restore away until the connection is closed.
      connection.run('SELECT count(*) FROM sqlite_schema')
    } catch (error) {
      if (!hasMoved(connection)) throw error
    }
    if (!hasMoved(connection)) return configured(connection)
    // A backup was restored while this process waited. The old file must not be read: its log would be that of the new one.
    connection.close(true)
  }
}

/** How a start waits for the locks of other processes: it says for whom. */
export function atStart(path: string): Retrying {
  return { maxMs: START_MAX_MS, pauseMs: START_PAUSE_MS, waits: () => tellOfHolders(path) }
}

/** Tells operators for which processes this one waits. */
export function tellOfHolders(path: string): void {
  tellOfWait('{path} is locked by {holders}; waiting for it', { path, holders: writersOrUsers(path) })
}

/**
 * Makes the connection, which does not wait for locks, use a write-ahead log, unless its file has moved. To change the journal of
 * a new file, SQLite turns its read lock into the write lock, and for that it never waits: two that hold read locks would wait
 * for each other.
 */
async function useLog(connection: Database, start: Retrying): Promise<void> {
  await whenUnlocked(() => hasMoved(connection) || connection.run('PRAGMA journal_mode = WAL'), start)
  connection.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
}

/** One more connection of this process, to a file that is in its place. */
export function connectAgain(path: string): Database {
  const connection = opened(path)
  // First, so that the following statements wait for locks.
  connection.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
  return configured(connection)
}

/** Whether the file was deleted, moved or replaced. */
export function hasMoved(connection: Database): boolean {
  // The runtime demands eight bytes; SQLite writes the first four.
  const answer = new Int32Array(2)
  connection.fileControl(constants.SQLITE_FCNTL_HAS_MOVED, answer)
  return answer[0] !== 0
}

/** A lost file is not created again: an empty one would lose the write-ahead log that is still beside it. */
function opened(path: string): Database {
  return new Database(path, { readwrite: true, strict: true })
}

function configured(connection: Database): Database {
  connection.run('PRAGMA synchronous = FULL')
  connection.run('PRAGMA foreign_keys = ON')
  connection.run(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`)
  // `checkpoints.ts` copies the log into the file.
  connection.run('PRAGMA wal_autocheckpoint = 0')
  connection.run(`PRAGMA journal_size_limit = ${LOG_MAX_BYTES}`)
  return connection
}

/** From then on, a statement whose lock is taken fails at once, so that the event loop does not wait for it. */
export function failOnTakenLocks(connection: Database): void {
  connection.run('PRAGMA busy_timeout = 0')
}

/** Runs `work`, whose statements wait for locks. Blocks the event loop. */
export function waitingForLocks<Result>(connection: Database, work: () => Result): Result {
  connection.run(`PRAGMA busy_timeout = ${READ_BUSY_MS}`)
  try {
    return work()
  } finally {
    failOnTakenLocks(connection)
  }
}

export function prepared<Parameters extends Parameter[], Row>(
  connection: Database,
  sql: string,
): Prepared<Parameters, Row> {
  return connection.prepare<Row, Parameter[]>(withPlus(sql))
}

/**
 * Writes a unary plus before each parameter. If the query planner has used the value of a bare one, SQLite replans the statement
 * at each binding, which takes longer than most of our reads. The planner ignores a parameter behind a plus, which changes
 * nothing else. No statement of ours has a question mark in a text.
 */
export function withPlus(sql: string): string {
  return sql.replaceAll('?', '+?')
}

/** The path of the write-ahead log, of the file that connections share, or of the database file, as SQLite opened it. */
export function companionFile(connection: Database, ending: '-wal' | '-shm' | ''): string {
  const main = connection.query<{ file: string }, []>("SELECT file FROM pragma_database_list WHERE name = 'main'").get()
  return `${main?.file}${ending}`
}

export function applicationId(connection: Database): number | undefined {
  return connection.query<{ application_id: number }, []>('PRAGMA application_id').get()?.application_id
}

/** Says why the file cannot be used; `null` if it can. */
function obstacleIn(connection: Database): string | null {
  const something = connection.query<{ name: string }, []>('SELECT name FROM sqlite_schema LIMIT 1').get()
  if (applicationId(connection) !== APPLICATION_ID && something !== null) return 'is a database of another program'
  return encodingObstacle(connection)
}

/** Another encoding has another order of texts, which PostgreSQL and the search index do not have. */
export function encodingObstacle(connection: Database): string | null {
  const { encoding } = connection.query<{ encoding: string }, []>('PRAGMA encoding').get() ?? {}
  return encoding === 'UTF-8' ? null : `is not encoded in UTF-8 but in ${encoding}; use another file`
}
