import type { Database, Statement } from 'bun:sqlite'
import { type Change, type ChangeListener, eventCount, newTag } from '../change.ts'
import type { Commits } from './commits.ts'
import { type Prepared, prepared } from './connection.ts'
import type { Step } from './steps.ts'

/** The most commits that are read at once. A process that has missed more must clear its cache. */
const READ_COMMITS_MAX = 1_024
/** Number of commits between two removals of old rows. */
const REMOVAL_INTERVAL_COMMITS = 256
/** How many old rows a removal looks at: those since the last two removals, because another program may have skipped one. */
const LOOKED_AT = 2 * REMOVAL_INTERVAL_COMMITS

const INSERT = 'INSERT INTO change_log (events, commit_number, changes, logged_at, tag) VALUES (?, ?, ?, ?, ?)'

/** A row without changes. The beginning of a log for followers has none either, but a space, and stays. */
export const NO_CHANGES = '[]'
export const BEGINNING = '[ ]'

type LoggedValues = [events: number, number: number, changes: string, at: number, tag: number]

/** A row of the log, and the number of all events up to it. */
interface LoggedRow {
  readonly place: number
  readonly events: number
}

interface LoggedCommit extends LoggedRow {
  readonly number: number
  readonly changes: string
}

const NO_ROW: LoggedRow = { place: 0, events: 0 }

/**
 * Tells all processes on the file the changes of each commit. A writer adds one row to its transaction, with the number
 * that SQLite will give to the commit. A reader that finds a row for each commit since its last check knows every change. If a
 * number is missing, another program has written, or old rows were removed: then anything may have changed.
 *
 * The numbers start again when the last process closes the file; the row ids do not.
 */
export class ChangeLog {
  readonly #commits: Commits
  readonly #select: Prepared<[place: number], LoggedCommit>
  readonly #selectLast: Prepared<[], LoggedRow>
  readonly #insert: Prepared<LoggedValues>
  readonly #removeEmpty: Prepared<[from: number, until: number]>
  readonly #totalChanges: Statement<{ total: number }, []>
  readonly #listeners: ChangeListener[] = []
  /** The last commit whose changes are known, and its row in the log; at first none. */
  #number = -1
  #row = NO_ROW
  #isRead = false
  /** The row of the transaction in progress. */
  #appended: LoggedRow | null = null
  /** Number of rows that the connection has changed so far. */
  #rowsChanged = 0

  constructor(connection: Database, commits: Commits) {
    this.#commits = commits
    this.#select = prepared(
      connection,
      `SELECT place, commit_number AS number, changes, events FROM change_log
      WHERE place > ? ORDER BY place LIMIT ${READ_COMMITS_MAX}`,
    )
    this.#selectLast = prepared(connection, 'SELECT place, events FROM change_log ORDER BY place DESC LIMIT 1')
    this.#insert = prepared(connection, INSERT)
    this.#removeEmpty = prepared(
      connection,
      `DELETE FROM change_log WHERE place > ? AND place <= ? AND changes = '${NO_CHANGES}'`,
    )
    this.#totalChanges = connection.prepare('SELECT total_changes() AS total')
  }

  /** Calls `listener` with the changes of commits by any process. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener)
  }

  /** Whether the changes of every commit up to the last check are known. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Checks for commits by anyone. Returns whether there were any since the last check. */
  check(): boolean {
    if (!this.#commits.hasNew()) return false
    this.#isRead = false
    return true
  }

  /**
   * Reads the changes of all commits up to the last check, and perhaps of later ones, and tells listeners. Call it in a transaction
   * that began after the check.
   */
  read(): void {
    if (this.#isRead) return
    const until = this.#commits.number
    const isFirst = this.#number === -1
    const changes: Change[] = []
    let isWhole = this.#number <= until
    // Even if the number is the same: after a recovery, others may have counted up to it again.
    for (const { number, place, events, changes: json } of this.#select.iterate(this.#row.place)) {
      isWhole &&= number === this.#number + 1
      if (!isWhole) break
      this.#number = number
      this.#row = { place, events }
      const logged: readonly Change[] = JSON.parse(json)
      changes.push(...logged)
    }
    if (!isWhole || this.#number < until) {
      this.#number = until
      this.#row = this.#selectLast.get() ?? NO_ROW
      isWhole = false
    }
    this.#isRead = true
    this.#tell(isWhole || isFirst ? changes : 'unknown')
  }

  /** Adds the changes of the transaction in progress. All commits before it must have been read. */
  append(changes: readonly Change[]): void {
    const rowsChanged = this.#totalChanges.get()?.total ?? 0
    this.#appended = null
    // Other parts do not report which rows they change. A transaction without changes has nothing to commit.
    if (rowsChanged === this.#rowsChanged && changes.length === 0) return
    const values = this.#valuesFor(changes)
    const [events] = values
    const place = Number(this.#insert.run(...values).lastInsertRowid)
    this.#appended = { place, events }
    const removed = place % REMOVAL_INTERVAL_COMMITS === 0 ? this.#removeOldEmpty(place - READ_COMMITS_MAX) : 0
    this.#rowsChanged = rowsChanged + 1 + removed
  }

  /** The step that does the same on another connection, which has the write lock. */
  stepBeside(changes: readonly Change[]): Step {
    return { sql: INSERT, each: [this.#valuesFor(changes)] }
  }

  /** Call it after the commit of the transaction to which `append` has added these changes. Tells listeners of them. */
  committed(changes: readonly Change[]): void {
    if (this.#appended !== null) {
      this.#number += 1
      this.#row = this.#appended
      this.#commits.hasNew()
      this.#isRead = this.#commits.number === this.#number
    }
    this.#tell(changes)
  }

  /** The row of the next commit. */
  #valuesFor(changes: readonly Change[]): LoggedValues {
    const events = this.#row.events + eventCount(changes)
    return [events, this.#number + 1, JSON.stringify(changes), Date.now(), newTag()]
  }

  #tell(changes: Parameters<ChangeListener>[0]): void {
    for (const listener of this.#listeners) listener(changes)
  }

  /** `history.ts` removes those with changes. Returns the number of removed rows. */
  #removeOldEmpty(until: number): number {
    return this.#removeEmpty.run(until - LOOKED_AT, until).changes
  }
}
