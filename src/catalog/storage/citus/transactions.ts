import type { TableName } from '../resource.ts'
import { MOVES } from './shards.ts'

/**
 * SQL that makes a transaction use one connection to each worker: otherwise it uses one for each shard, and prepares each of them.
 * With foreign keys to tables that are whole on every server, Citus requires it.
 */
export const ONE_CONNECTION_PER_WORKER = "set_config('citus.multi_shard_modify_mode', 'sequential', true)"

/**
 * SQL that waits for the turn to create rows of a table, and keeps it until the transaction has ended on all workers. Row locks
 * would not do: they end before the workers have committed.
 */
export function turn(table: TableName): string {
  return `pg_advisory_xact_lock(hashtext('stockroom creates'), hashtext('${table}'))`
}

/** SQL that takes the turn, unless somebody has it. */
export function freeTurn(table: TableName): string {
  return `pg_try_advisory_xact_lock(hashtext('stockroom creates'), hashtext('${table}'))`
}

/** SQL that keeps reviews where they are, and categories and users existing, until the transaction ends. */
export const NO_MOVES = `pg_advisory_xact_lock_shared(${MOVES})`

/** SQL that waits until no other transaction reads several shards, or changes what is on one. */
export const ALONE = `pg_advisory_xact_lock(${MOVES})`
