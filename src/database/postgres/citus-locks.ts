/** The lock of moves of rows between shards, and of deletes on several shards. They hold it alone. */
const MOVES = "hashtext('stockroom moves'), 0"

/**
 * SQL that makes a transaction use one connection to each worker: otherwise it uses one for each shard, and prepares each of them.
 * With foreign keys to tables that are whole on every server, Citus requires it.
 */
export const ONE_CONNECTION_PER_WORKER = "set_config('citus.multi_shard_modify_mode', 'sequential', true)"

/**
 * SQL that waits for the turn to create rows of a table, and keeps it until the transaction has ended on all workers. Row locks
 * would not do: they end before the workers have committed.
 */
export function turn(table: string): string {
  return `pg_advisory_xact_lock(hashtext('stockroom creates'), hashtext('${table}'))`
}

/** SQL that waits for the turns of several tables, which are in the order of their names. */
export function turns(tables: readonly string[]): string {
  return tables.map(turn).join(', ')
}

/** SQL that takes the turn, unless somebody has it. */
export function freeTurn(table: string): string {
  return `pg_try_advisory_xact_lock(hashtext('stockroom creates'), hashtext('${table}'))`
}

/** SQL that keeps reviews where they are, and categories and users existing, until the transaction ends. */
export const NO_MOVES = `pg_advisory_xact_lock_shared(${MOVES})`

/** Bulk loads share this lock, however long they take. A transaction that holds the lock of moves alone takes this one alone first. */
const LOADS = "hashtext('stockroom moves'), 1"

/**
 * SQL that waits until no other transaction loads rows, reads several shards, or changes what is on one. It waits for loads
 * before it takes the lock of moves, because that holds up reads.
 */
export const ALONE = `pg_advisory_xact_lock(${LOADS}), pg_advisory_xact_lock(${MOVES})`

/** SQL that keeps reviews where they are, and categories and users existing, but does not hold up reads as `NO_MOVES` would. */
export const NO_MOVES_WHILE_LOADING = `pg_advisory_xact_lock_shared(${LOADS})`
