import { type ChangeHistory, type LoggedPiece, type LoggedTransaction, newTag } from '../change.ts'
import { BEGINNING, NO_CHANGES } from './change-log.ts'
import type { Prepared } from './connection.ts'
import type { SqliteDatabase } from './database.ts'

/** The size of a piece: limits on its rows and on their JSON, so that no read takes long. */
const PIECE_ROWS = 500
const PIECE_CHARACTERS = 262_144

/** Rows that one transaction removes. */
const REMOVED_AT_ONCE = 500

/** Old rows are removed when the log has this share of events too many. */
const TOLERATED_SHARE = 0.02

const COLUMNS = 'place, logged_at AS time, tag, events, changes'

interface Row {
  readonly place: number
  readonly time: number
  readonly tag: number
  readonly events: number
  readonly changes: string
}

/** The change log of a file, for followers. One row is one group of writes. */
export class SqliteHistory implements ChangeHistory {
  readonly #database: SqliteDatabase
  readonly #select: Prepared<[from: number], Row>
  readonly #selectLast: Prepared<[], Row>

  constructor(database: SqliteDatabase) {
    this.#database = database
    this.#select = database.prepare(`SELECT ${COLUMNS} FROM change_log WHERE place >= ? ORDER BY place`)
    this.#selectLast = database.prepare(
      `SELECT ${COLUMNS} FROM change_log WHERE changes <> '${NO_CHANGES}' ORDER BY place DESC LIMIT 1`,
    )
  }

  async begin(): Promise<void> {
    if (this.#database.look(() => this.#selectLast.get())) return
    const insert = this.#database.prepare<[time: number, tag: number]>(`
      INSERT INTO change_log (place, commit_number, changes, logged_at, tag, events)
      SELECT coalesce(max(place), 0) + 1, -1, '${BEGINNING}', ?, ?, coalesce(max(events), 0) + 1 FROM change_log`)
    // Another process may have begun the log meanwhile; the later beginning then counts.
    await this.#database.write(() => insert.run(Date.now(), newTag()))
  }

  async first(): Promise<LoggedTransaction> {
    return logged(await this.#database.snapshot(() => this.#select.get(0)))
  }

  async last(): Promise<LoggedTransaction> {
    return logged(await this.#database.snapshot(() => this.#selectLast.get()))
  }

  async read(from: number): Promise<LoggedPiece> {
    return this.#database.durable(() => this.#piece(from))
  }

  async removeOld(kept: number, signal: AbortSignal): Promise<void> {
    const { first, last } = this.#database.look(() => ({ first: this.#select.get(0), last: this.#selectLast.get() }))
    if (!first || !last) return
    const newest = last.events
    if (newest - first.events <= kept * (1 + TOLERATED_SHARE)) return
    // The last row up to which no event is to be kept becomes the first.
    let [oldest, end] = [first.place, last.place]
    while (oldest + 1 < end) {
      const middle = Math.floor((oldest + end) / 2)
      const row = this.#database.look(() => this.#select.get(middle))
      if (row && row.events <= newest - kept) oldest = row.place
      else end = middle
    }
    await this.#removeUntil(oldest - 1, signal)
  }

  async #removeUntil(place: number, signal: AbortSignal): Promise<void> {
    const remove = this.#database.prepare<[place: number]>(`
      DELETE FROM change_log WHERE place IN (
        SELECT place FROM change_log WHERE place <= ? ORDER BY place LIMIT ${REMOVED_AT_ONCE}
      )`)
    const removeSome = () => this.#database.write(() => remove.run(place).changes)
    while (!signal.aborted && (await removeSome()) === REMOVED_AT_ONCE);
  }

  #piece(from: number): LoggedPiece {
    const transactions: LoggedTransaction[] = []
    let characters = 0
    for (const row of this.#select.iterate(from)) {
      if (transactions.length === PIECE_ROWS || characters > PIECE_CHARACTERS) return { transactions, isEnd: false }
      transactions.push(logged(row))
      characters += row.changes.length
    }
    return { transactions, isEnd: true }
  }
}

function logged(row: Row | null): LoggedTransaction {
  if (!row) throw new Error('the change log is empty')
  const { place, time, tag, changes } = row
  return { position: place, time, tag, changes: JSON.parse(changes), isLasting: changes !== NO_CHANGES }
}
