import { Batch } from './batch.ts'

/**
 * Which transactions a statement saw, on which server, since which recovery: two statements that say the same saw the same.
 * After a crash of one of its processes PostgreSQL recovers without a restart, and gives numbers of transactions again whose
 * log was lost. Not on a standby, whose snapshots do not tell of what is under way.
 * https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
 */
const stateSince = (recovery: string) => `(
  SELECT pg_current_snapshot()::text || ' ' || pg_postmaster_start_time()::text || ' ' || ${recovery}::text
  WHERE NOT pg_is_in_recovery())`

/**
 * What differs after each recovery: statistics are reset by it. Before version 15 they are in a file that takes time to
 * read; there, the place of the last checkpoint does, as a recovery ends with one.
 */
const RECOVERY = 'pg_stat_get_bgwriter_stat_reset_time()'
const RECOVERY_BEFORE_15 = '(SELECT checkpoint_lsn FROM pg_control_checkpoint())'

/** SQL for the state of a server of this version. */
export function stateOn(majorVersion: number): string {
  return stateSince(majorVersion >= 15 ? RECOVERY : RECOVERY_BEFORE_15)
}

/** Whether something has changed since something was read, whoever changed it. */
export class Changes {
  readonly #listeners: ((changes: 'unknown') => void)[] = []
  readonly #checks: Batch<null, string | null>
  #state = 'NULL::text'
  #current: string | null = null

  /** `ask` does a statement whose one row has a `state`. */
  constructor(ask: (sql: string) => Promise<readonly { readonly state: string | null }[]>) {
    this.#checks = new Batch(async asked => {
      const [row] = await ask(`SELECT ${this.state} AS state`)
      return asked.map(() => row?.state ?? null)
    })
  }

  /** In SQL: at which state of the database a statement reads; `NULL` where that cannot be told. */
  get state(): string {
    return this.#state
  }

  /** From now on the database can be asked by this SQL. Until then, and where it never can, nothing is taken for unchanged. */
  begin(state: string): void {
    this.#state = state
  }

  /** Calls `listener` when the state is another one than before. A state does not say what has changed. */
  onChange(listener: (changes: 'unknown') => void): void {
    this.#listeners.push(listener)
  }

  /** Takes note of the state at which something was read. True when it may be kept until the next change. */
  saw(state: string | null): boolean {
    if (state !== this.#current) {
      this.#current = state
      for (const listener of this.#listeners) listener('unknown')
    }
    return state !== null
  }

  /**
   * Asks the database for its state, once for all who ask at the same time. Resolves to what `look` finds at the moment at
   * which listeners know of every change up to that state; `null` if the state cannot be told.
   */
  async current<Result>(look: () => Result): Promise<Result | null> {
    return this.saw(await this.#checks.add(null)) ? look() : null
  }
}
