/**
 * SQL for the transactions that have not ended. Each holds the lock on its own id, and releases it a little after others see it as
 * committed. With Citus, it releases the lock when all workers have committed, which they do last.
 */
export const RUNNING_TRANSACTIONS =
  "SELECT transactionid FROM pg_locks WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock'"
