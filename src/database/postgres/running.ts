/**
 * SQL for the transactions that have not ended. Each holds the lock on its own id a little longer than others can see that it is
 * committed. With Citus, it is held until all workers have committed: their part comes last.
 */
export const RUNNING_TRANSACTIONS =
  "SELECT transactionid FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock'"
