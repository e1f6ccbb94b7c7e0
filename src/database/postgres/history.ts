import { setTimeout as wait } from 'node:timers/promises'
import type { Change, ChangeHistory, LoggedPiece, LoggedTransaction } from '../change.ts'
import { insertChanges, LOG_NO_CHANGES } from './changes.ts'
import type { PostgresDatabase } from './database.ts'

/**
 * SQL for the transactions that have not ended. Each holds the lock on its own id, and releases it a little after others see it as
 * committed. With Citus, it releases the lock when all workers have committed, which they do last.
 */
export const RUNNING_TRANSACTIONS =
  "SELECT transactionid FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock'"

/** The size of a piece. */
const PIECE_ROWS = 500
const PIECE_EVENTS = 2_000

/** The last rows, in which a transaction that has drawn its position may still be missing. Those without events stay, too. */
const RECENT_ROWS = 8_192

/** How long a new reader waits for transactions that may be missing, and how often it looks. */
const SETTLED_WITHIN_MS = 1_000
const SETTLED_INTERVAL_MS = 20

/** Rows that one statement removes. */
const REMOVED_AT_ONCE = 5_000

/** Old rows are looked for when this share of the kept events has been added. */
const ADDED_SHARE = 0.03

const COLUMNS = 'position::float8, tag::float8, logged_at::float8 AS time, events, changes'
const SELECT = `SELECT ${COLUMNS} FROM change_log`

/** SQL for the first rows from $1 on, up to the limit on their events. */
const pieceOf = (hasEnded: string) => `
  SELECT ${COLUMNS}, has_ended FROM (
    SELECT *, sum(events) OVER (ORDER BY position) - events AS events_before
    FROM (
      SELECT *, ${hasEnded} AS has_ended FROM change_log WHERE position >= $1::bigint ORDER BY position LIMIT ${PIECE_ROWS}
    ) AS first
  ) AS piece WHERE events_before < ${PIECE_EVENTS} ORDER BY position`

interface Row {
  readonly position: number
  readonly tag: number
  readonly time: number
  readonly events: number
  readonly changes: readonly Change[]
}

interface PieceRow extends Row {
  readonly has_ended: boolean
}

type Source = Pick<PostgresDatabase, 'readPrimary' | 'write' | 'isDistributed'>

/** Transactions that may still commit rows up to a position. */
interface Gap {
  readonly until: number
  readonly running: ReadonlySet<string>
}

/**
 * The change log for followers, in the order of positions. A transaction draws its position when it holds all its locks, just
 * before it ends, so transactions that conflict have the order of their commits, but others become visible in any order. So a
 * reader stops before a position that it does not see, until every transaction that was running when it first saw this gap has
 * ended: then the position belongs to one that failed. Two snapshots would not do, because the id of a running transaction may
 * be higher than the end of a snapshot; the locks that transactions hold on their own ids tell all of them.
 *
 * With Citus, a reader also stops before a transaction that still holds this lock, because its rows may be missing on a worker.
 */
export class PostgresHistory implements ChangeHistory {
  readonly #database: Source
  /** No row will appear any more up to this position. */
  #settled = 0
  #gap: Gap | null = null
  /**
   * The number of events added since old ones were last looked for, and the position up to which they are counted.
   * Infinite at first, so that the first call looks.
   */
  #added = Number.POSITIVE_INFINITY
  #addedUntil = 0

  constructor(database: Source) {
    this.#database = database
  }

  async begin(): Promise<void> {
    await this.#database.write(
      `${insertChanges("'[]'", '1')} WHERE NOT EXISTS (SELECT 1 FROM change_log WHERE events > 0)`,
    )
  }

  async first(): Promise<LoggedTransaction> {
    return found(await this.#database.readPrimary<Row>(`${SELECT} ORDER BY position LIMIT 1`))
  }

  async last(): Promise<LoggedTransaction> {
    this.#gap = null
    this.#settled = await this.#settledNow()
    const last = `${SELECT} WHERE events > 0 AND position <= $1::bigint ORDER BY position DESC LIMIT 1`
    return found(await this.#database.readPrimary<Row>(last, this.#settled))
  }

  async read(from: number): Promise<LoggedPiece> {
    await this.#closeGap()
    // Another reader may settle more while this one reads, which its snapshot does not show.
    const settled = this.#settled
    const piece = await this.#database.readPrimary<PieceRow>(pieceOf(this.#hasEnded), from)
    const unended = piece.findIndex(({ has_ended }) => !has_ended)
    const rows = unended === -1 ? piece : piece.slice(0, unended)
    const missing = rows.findIndex(({ position }, place) => {
      const before = rows[place - 1]?.position ?? position - 1
      return position > before + 1 && position - 1 > settled
    })
    const last = rows.at(-1)?.position ?? from
    if (missing === -1) {
      if (from <= settled) this.#settled = Math.max(this.#settled, last)
      const events = rows.reduce((sum, row) => sum + row.events, 0)
      const isWhole = rows.length < PIECE_ROWS && events < PIECE_EVENTS
      return { transactions: rows.map(logged), isEnd: isWhole || unended !== -1 }
    }
    if (!this.#gap) {
      this.#gap = { until: last, running: await this.#running() }
      if (this.#gap.running.size === 0) return this.read(from)
    }
    return { transactions: rows.slice(0, missing).map(logged), isEnd: true }
  }

  async removeOld(kept: number, signal: AbortSignal): Promise<void> {
    const [added] = await this.#database.readPrimary<{ events: number; last: number | null }>(
      `SELECT coalesce(sum(greatest(events, 1)), 0)::float8 AS events, max(position)::float8 AS last
      FROM change_log WHERE position > $1::bigint`,
      this.#addedUntil,
    )
    this.#added += added?.events ?? 0
    this.#addedUntil = added?.last ?? this.#addedUntil
    if (this.#added <= kept * ADDED_SHARE) return
    this.#added = 0
    // The newest row up to which no event is to be kept becomes the first.
    const [oldest] = await this.#database.readPrimary<{ position: number }>(
      `SELECT position::float8 AS position FROM (
        SELECT position, sum(events) OVER (ORDER BY position DESC) - events AS newer FROM change_log
      ) AS counted WHERE newer >= $1::bigint ORDER BY position DESC LIMIT 1`,
      kept,
    )
    if (oldest) await this.#remove('position < $1::bigint', oldest.position, signal)
    await this.#remove('events = 0 AND position < $1::bigint', this.#addedUntil - RECENT_ROWS, signal)
  }

  /** The removal is a transaction, too, which caches want to find in the log. */
  async #remove(condition: string, position: number, signal: AbortSignal): Promise<void> {
    for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE && !signal.aborted; ) {
      const [done] = await this.#database.write<{ removed: number }>(
        `WITH removed AS (
          DELETE FROM change_log WHERE position IN (
            SELECT position FROM change_log WHERE ${condition} ORDER BY position LIMIT ${REMOVED_AT_ONCE}
          ) RETURNING position
        ), logged AS (
          ${LOG_NO_CHANGES} FROM removed HAVING count(*) > 0
        )
        SELECT count(*)::float8 AS removed FROM removed`,
        position,
      )
      removed = done?.removed ?? 0
    }
  }

  /** A position up to which no row will appear any more: the last one, unless a transaction takes long. */
  async #settledNow(): Promise<number> {
    // Others may appear before a row that has not ended, or does not follow the one before.
    const [recent] = await this.#database.readPrimary<{ last: number | null; settled: number | null }>(`
      SELECT max(position)::float8 AS last, (min(before) FILTER (WHERE position > before + 1 OR NOT has_ended))::float8 AS settled
      FROM (
        SELECT *, lag(position, 1, position - 1) OVER (ORDER BY position) AS before FROM (
          SELECT position, ${this.#hasEnded} AS has_ended FROM change_log ORDER BY position DESC LIMIT ${RECENT_ROWS}
        ) AS recent
      ) AS followed`)
    const { last = null, settled = null } = recent ?? {}
    if (last === null || settled === null) return last ?? 0
    const before = await this.#running()
    const until = performance.now() + SETTLED_WITHIN_MS
    while (before.size > 0 && meet(before, await this.#running())) {
      if (performance.now() > until) return settled
      await wait(SETTLED_INTERVAL_MS)
    }
    return last
  }

  /** SQL for whether the transaction of a row has ended, as a row may be visible before the workers of Citus have committed. */
  get #hasEnded(): string {
    return this.#database.isDistributed ? `xmin NOT IN (${RUNNING_TRANSACTIONS})` : 'TRUE'
  }

  async #closeGap(): Promise<void> {
    const gap = this.#gap
    if (!gap || meet(gap.running, await this.#running())) return
    this.#settled = Math.max(this.#settled, gap.until)
    if (this.#gap === gap) this.#gap = null
  }

  /** The ids of all transactions that are writing to this database. */
  async #running(): Promise<ReadonlySet<string>> {
    const rows = await this.#database.readPrimary<{ id: string }>(`
      SELECT transactionid::text AS id FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND coalesce(datname = current_database(), true)`)
    return new Set(rows.map(({ id }) => id))
  }
}

function meet(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return !some.isDisjointFrom(others)
}

function found([row]: readonly Row[]): LoggedTransaction {
  if (!row) throw new Error('the change log is empty')
  return logged(row)
}

function logged({ position, tag, time, events, changes }: Row): LoggedTransaction {
  return { position, tag, time, changes, isLasting: events > 0 }
}
