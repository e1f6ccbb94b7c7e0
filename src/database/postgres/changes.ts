import { Batch } from './batch.ts'

/**
 * SQL for the state of the database that a statement reads: its snapshot, the server, and the last recovery. Statements with
 * equal states see equal data. The recovery counts because after the crash of one of its processes, PostgreSQL recovers
 * without a restart and reuses transaction ids whose log was lost. `NULL` on a standby, whose snapshots do not show the
 * transactions in progress. https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
 */
const stateSince = (recovery: string) => `(
  SELECT pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text || ' ' || ${recovery}::text
  WHERE NOT pg_is_in_recovery())`

/**
 * A value that changes with each recovery: a recovery resets the statistics. Before version 15 these are in a file that is
 * slow to read, so the position of the last checkpoint is used, because a recovery ends with a checkpoint.
 */
const RECOVERY = 'pg_stat_get_bgwriter_stat_reset_time()'
const RECOVERY_BEFORE_15 = '(SELECT checkpoint_lsn FROM pg_control_checkpoint())'

/** SQL for the state on a server of this version. */
export function stateOn(majorVersion: number): string {
  return stateSince(majorVersion >= 15 ? RECOVERY : RECOVERY_BEFORE_15)
}

/** Tells whether any client has changed the database since something was read. */
export class Changes {
  readonly #listeners: ((changes: 'unknown') => void)[] = []
  readonly #checks: Batch<null, string | null>
  #state = 'NULL::text'
  #current: string | null = null

  /** `ask` runs a statement whose only row has a `state`. */
  constructor(ask: (sql: string) => Promise<readonly { readonly state: string | null }[]>) {
    this.#checks = new Batch(async asked => {
      const [row] = await ask(`SELECT ${this.state} AS state`)
      return asked.map(() => row?.state ?? null)
    })
  }

  /** SQL for the state of the database that a statement reads; `NULL` if the server cannot tell. */
  get state(): string {
    return this.#state
  }

  /** Sets the SQL. Until then, everything counts as changed. */
  enable(state: string): void {
    this.#state = state
  }

  /** Calls `listener` when the state has changed. The state does not tell which rows have. */
  onChange(listener: (changes: 'unknown') => void): void {
    this.#listeners.push(listener)
  }

  /** Notes the state of a read. Returns whether its result may be cached until the next change. */
  observe(state: string | null): boolean {
    if (state !== this.#current) {
      this.#current = state
      for (const listener of this.#listeners) listener('unknown')
    }
    return state !== null
  }

  /**
   * Queries the state, once for all concurrent callers, and tells listeners if it has changed. Then resolves to the result of
   * `look`, or to `null` if the server cannot tell its state.
   */
  async current<Result>(look: () => Result): Promise<Result | null> {
    return this.observe(await this.#checks.add(null)) ? look() : null
  }
}
