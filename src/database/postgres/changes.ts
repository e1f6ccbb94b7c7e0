import type { Change, ChangeListener, ChangeSource } from '../change.ts'
import { Batch } from './batch.ts'
import type { Query } from './pool.ts'
import { Snapshot } from './snapshot.ts'

/**
 * A value that changes with each recovery: a recovery resets the statistics. Before version 15 these are in a file that is
 * slow to read, so the position of the last checkpoint is used, because a recovery ends with a checkpoint.
 */
const RECOVERY = 'pg_stat_get_bgwriter_stat_reset_time()'
const RECOVERY_BEFORE_15 = '(SELECT checkpoint_lsn FROM pg_control_checkpoint())'

/** The most rows of the log that are read at once. After more transactions, everything counts as changed. */
const LOGGED_MAX = 1_024

const CURRENT_TRANSACTION = 'pg_current_xact_id()::text::bigint'

/** `xmin` has the lower 32 bits of a transaction's id. */
const XID_VALUES = 4_294_967_296

/** All calls that wait share one check. */
const IN_FLIGHT = { statementsMax: 1, inputsMax: 8_192 }

/**
 * SQL for the state of the database that a statement reads: its snapshot, the server, and the last recovery. Statements with
 * equal states see equal data. The recovery counts because after the crash of one of its processes, PostgreSQL recovers
 * without a restart and reuses transaction ids whose log was lost. `NULL` on a standby, whose snapshots do not show the
 * transactions in progress. https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
 */
export function stateOn(majorVersion: number): string {
  const recovery = majorVersion >= 15 ? RECOVERY : RECOVERY_BEFORE_15
  return `(
  SELECT pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text || ' ' || ${recovery}::text
  WHERE NOT pg_is_in_recovery())`
}

/**
 * SQL that logs changes of its transaction, which must hold all its locks by then. The parameters are SQL for a JSON array, which
 * accounts for the transaction even if it is empty, and for the number of events in it.
 */
export function insertChanges(changes: string, events: string): string {
  return `INSERT INTO change_log (transaction_id, changes, events, tag)
    SELECT ${CURRENT_TRANSACTION}, ${changes}, ${events}, floor(1 + random() * 4294967296)`
}

/** SQL that accounts for a transaction which changes no resource. */
export const LOG_NO_CHANGES = insertChanges("'[]'", '0')

/** SQL that logs changes which are parameters: their JSON and the number of their events. */
export const LOG_CHANGES = insertChanges('$1::text::json', '$2::integer')

/** A row of the log with the state. If nothing is logged, the state alone. */
type LogRow = { readonly state: string | null } & (
  | { readonly transaction: number; readonly insertedBy: number; readonly changes: readonly Change[] }
  | { readonly transaction: null; readonly insertedBy: null; readonly changes: null }
)

interface State {
  readonly snapshot: Snapshot
  /** The server and its last recovery. */
  readonly server: string
}

/**
 * Reports the changes of all clients of the database. A transaction that changes something also adds a row to `change_log`.
 * Snapshots tell exactly which transactions have become visible since the last check. If the log has all of them, their
 * changes are known. If one is missing, it was another program's, or old rows are gone: then anything may have changed.
 */
export class Changes implements ChangeSource {
  readonly #listeners: ChangeListener[] = []
  readonly #ask: Query
  readonly #checks = new Batch<null, boolean>(async asked => {
    const isKnown = await this.#check()
    return asked.map(() => isKnown)
  }, IN_FLIGHT)
  #stateSql: string | null = null
  /** Listeners know of every change up to this state. */
  #known: State | null = null

  constructor(ask: Query) {
    this.#ask = ask
  }

  /** SQL for the state of the database that a statement reads; `NULL` if the server cannot tell. */
  get state(): string {
    return this.#stateSql ?? 'NULL::text'
  }

  /** Sets the SQL. Until then, everything counts as changed. */
  enable(state: string): void {
    this.#stateSql = state
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener)
  }

  /**
   * Notes the state of a read. Returns whether it is from the server that the checks are about. The first read from another
   * server clears every cache, so what was read before that, or by it, is not current any more.
   */
  observe(state: string | null): boolean {
    const seen = parsed(state)
    if (!seen) return false
    if (this.#known?.server === seen.server) return true
    this.#known = seen
    this.#tell('unknown')
    return false
  }

  /**
   * Checks for changes, once for all concurrent callers, and tells listeners. Then resolves to the result of `look`, or to
   * `null` if the server cannot tell.
   */
  async current<Result>(look: () => Result): Promise<Result | null> {
    return (await this.#checks.add(null)) ? look() : null
  }

  async #check(): Promise<boolean> {
    if (!this.#known) return false
    const rows = await this.#ask<LogRow>(
      `SELECT ${this.state} AS state, logged.* FROM (SELECT) AS always LEFT JOIN (
        SELECT transaction_id::float8 AS transaction, xmin::text::float8 AS "insertedBy", changes FROM change_log
        WHERE transaction_id >= $1::bigint AND transaction_id < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        ORDER BY transaction_id LIMIT ${LOGGED_MAX}
      ) AS logged ON TRUE`,
      this.#known.snapshot.first,
    )
    const state = rows[0]?.state ?? null
    const now = parsed(state)
    if (!now || !this.observe(state)) return false
    // An earlier answer may have told of some of it already.
    const before = this.#known.snapshot
    const count = now.snapshot.countSince(before)
    if (count === 0) return true
    this.#known = now
    const transactions = new Set<number>()
    const changes: Change[] = []
    for (const { transaction, insertedBy, changes: logged } of rows) {
      // In a restored dump, the log names transactions of another server.
      if (transaction === null || insertedBy !== transaction % XID_VALUES || before.shows(transaction)) continue
      transactions.add(transaction)
      for (const change of logged) changes.push(change)
    }
    this.#tell(transactions.size === count ? changes : 'unknown')
    return true
  }

  #tell(changes: Parameters<ChangeListener>[0]): void {
    for (const listener of this.#listeners) listener(changes)
  }
}

function parsed(state: string | null): State | null {
  if (state === null) return null
  const end = state.indexOf(' ')
  return { snapshot: new Snapshot(state.slice(0, end)), server: state.slice(end) }
}
