import { Database } from 'bun:sqlite'
import { OperatorError } from '../../operator-error.ts'

/** How long opening and migrating wait for another process that holds the file. */
const OPEN_BUSY_MS = 10_000

/** How long a statement blocks the process for another's lock. Writes wait longer, but beside the event loop. */
const STATEMENT_BUSY_MS = 50

/** What SQLite keeps in a file's header for the program that it belongs to: "Stoc". */
export const APPLICATION_ID = 0x53_74_6f_63

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

export function connect(path: string): Database {
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

/** For the time after the tables are up to date, when a statement that waits keeps everybody waiting. */
export function waitLittle(connection: Database): void {
  connection.run(`PRAGMA busy_timeout = ${STATEMENT_BUSY_MS}`)
}

export function prepared<Parameters extends Parameter[], Row>(
  connection: Database,
  sql: string,
): Prepared<Parameters, Row> {
  // Where the planner has looked at a bare parameter, SQLite plans the statement anew at each binding, which takes
  // longer than most of our reads. It does not look behind a unary plus, which changes nothing else.
  return connection.prepare<Row, Parameter[]>(sql.replaceAll('?', '+?'))
}

function isOfAnotherProgram(connection: Database): boolean {
  const id = connection.query<{ application_id: number }, []>('PRAGMA application_id').get()?.application_id
  const something = connection.query<{ name: string }, []>('SELECT name FROM sqlite_schema LIMIT 1').get()
  return id !== APPLICATION_ID && something !== null
}
