import type { Database, Statement } from 'bun:sqlite'
import type { Change } from '../change.ts'
import type { Commits } from './commits.ts'
import { type Prepared, prepared } from './connection.ts'

/** Number of commits in the log. A process that has missed more must clear its cache. */
const KEPT_COMMITS = 1_024
/** Number of commits between two removals of old rows. */
const REMOVAL_INTERVAL_COMMITS = 256

const CREATE_TABLE = `
  CREATE TABLE IF NOT EXISTS change_log (
    place         INTEGER PRIMARY KEY,
    commit_number INTEGER NOT NULL,
    changes       TEXT NOT NULL
  ) STRICT`

const INSERT = 'INSERT INTO change_log (commit_number, changes) VALUES (?, ?)'

interface LoggedCommit {
  readonly place: number
  readonly number: number
  readonly changes: string
}

/** Creates the log's table in the migrating transaction. */
export function createChangeLog(connection: Database): void {
  connection.run(CREATE_TABLE)
}

/**
 * Tells other processes on the file the changes of each commit. A writer adds one row to its transaction, with the number
 * that SQLite will give to the commit. A reader that finds a row for each commit since its last check knows every change. If a
 * number is missing, another program has written, or old rows were removed: then anything may have changed.
 *
 * The numbers start again when the last process closes the file; the row ids do not.
 */
export class ChangeLog {
  readonly #commits: Commits
  readonly #select: Prepared<[place: number], LoggedCommit>
  readonly #selectLast: Prepared<[], { place: number }>
  readonly #insert: Prepared<[number: number, changes: string]>
  readonly #remove: Prepared<[place: number]>
  readonly #totalChanges: Statement<{ total: number }, []>
  /** The last commit whose changes are known, and its row in the log; at first none. */
  #number = -1
  #place = 0
  #isRead = false
  /** The row of the transaction in progress. */
  #appended: number | null = null
  /** Number of rows that the connection has changed so far. */
  #rowsChanged = 0

  constructor(connection: Database, commits: Commits) {
    this.#commits = commits
    this.#select = prepared(
      connection,
      `SELECT place, commit_number AS number, changes FROM change_log WHERE place > ? ORDER BY place LIMIT ${KEPT_COMMITS}`,
    )
    this.#selectLast = prepared(connection, 'SELECT coalesce(max(place), 0) AS place FROM change_log')
    this.#insert = prepared(connection, INSERT)
    this.#remove = prepared(connection, 'DELETE FROM change_log WHERE place <= ?')
    this.#totalChanges = connection.prepare('SELECT total_changes() AS total')
  }

  /** Whether the changes of every commit up to the last check are known. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Checks whether anyone has committed since the last check. */
  hasNewCommits(): boolean {
    if (!this.#commits.hasNew()) return false
    this.#isRead = false
    return true
  }

  /** Reads the changes of all commits up to the last check, in a transaction that began after it. */
  read(): readonly Change[] | 'unknown' {
    const until = this.#commits.number
    const isFirst = this.#number === -1
    const changes: Change[] = []
    let isWhole = this.#number <= until
    // Even if the number is the same: after a recovery, others may have counted up to it again.
    for (const commit of this.#select.iterate(this.#place)) {
      isWhole &&= commit.number === this.#number + 1
      if (!isWhole) break
      this.#number = commit.number
      this.#place = commit.place
      changes.push(...decoded(commit.changes))
    }
    if (!isWhole || this.#number < until) {
      this.#number = until
      this.#place = this.#selectLast.get()?.place ?? 0
      isWhole = false
    }
    this.#isRead = true
    return isWhole || isFirst ? changes : 'unknown'
  }

  /** Adds the changes of the transaction in progress. All commits before it must have been read. */
  append(changes: readonly Change[]): void {
    const rowsChanged = this.#totalChanges.get()?.total ?? 0
    this.#appended = null
    // Other parts do not report which rows they change. A transaction without changes has nothing to commit.
    if (rowsChanged === this.#rowsChanged && changes.length === 0) return
    this.#appended = Number(this.#insert.run(this.#number + 1, JSON.stringify(changes)).lastInsertRowid)
    const isFull = this.#appended % REMOVAL_INTERVAL_COMMITS === 0
    const removed = isFull ? this.#remove.run(this.#appended - KEPT_COMMITS).changes : 0
    this.#rowsChanged = rowsChanged + 1 + removed
  }

  /** The same for a transaction on another connection, after the check that follows its start. */
  appendBeside(connection: Database, changes: readonly Change[]): void {
    prepared<[number: number, changes: string], never>(connection, INSERT).run(
      this.#commits.number + 1,
      JSON.stringify(changes),
    )
  }

  /** Called when the commit of that transaction is on the disk. */
  committed(): void {
    if (this.#appended === null) return
    this.#number += 1
    this.#place = this.#appended
    this.#commits.hasNew()
    this.#isRead = this.#commits.number === this.#number
  }
}

function decoded(changes: string): readonly Change[] {
  return JSON.parse(changes)
}
