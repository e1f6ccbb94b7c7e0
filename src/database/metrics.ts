import { counter, type Family, gauge, histogram } from '../metrics/family.ts'
import type { StoreDatabase } from './open.ts'
import type { PostgresFigures } from './postgres/database.ts'
import type { SqliteFigures } from './sqlite/database.ts'

/** Metrics of the database's engine. */
export function databaseFamilies(database: StoreDatabase): Family[] {
  return database.engine === 'sqlite' ? ofSqlite(database.figures) : ofPostgres(database.figures)
}

function ofSqlite({ waiting, groupSizes, commitSeconds, syncSeconds, logBytes }: SqliteFigures): Family[] {
  return [
    gauge('stockroom_sqlite_writes_waiting', 'Writes that wait for the next commit.', waiting),
    histogram('stockroom_sqlite_commit_writes', 'Writes that shared a commit.', groupSizes),
    histogram(
      'stockroom_sqlite_commit_duration_seconds',
      'Time of a commit, without the sync after it.',
      commitSeconds,
    ),
    histogram(
      'stockroom_sqlite_sync_duration_seconds',
      'Time until the disk has stored a commit (fdatasync of the write-ahead log).',
      syncSeconds,
    ),
    // All workers have the same log.
    gauge('stockroom_sqlite_log_bytes', 'Size of the write-ahead log.', logBytes, 'greatest'),
  ]
}

function ofPostgres({ pools, batched, batchSizes, replicas, replicasInUse, shardReads }: PostgresFigures): Family[] {
  const samples = Object.entries(pools).map(([pool, figures]) => ({ labels: { pool }, figures }))
  return [
    gauge(
      'stockroom_postgres_statements_in_progress',
      'Statements and transactions that were sent and have no result yet.',
      samples.map(({ labels, figures }) => ({ labels, value: figures.inProgress })),
    ),
    gauge(
      'stockroom_postgres_connections_max',
      'How many connections each pool may have.',
      samples.map(({ labels, figures }) => ({ labels, value: figures.connectionsMax })),
    ),
    histogram(
      'stockroom_postgres_statement_duration_seconds',
      'Time from sending a statement or beginning a transaction until its result, by pool.',
      samples.map(({ labels, figures }) => ({ labels, value: figures.seconds })),
    ),
    gauge('stockroom_postgres_batch_waiting', 'Reads and creates that wait for a statement to share.', batched),
    histogram('stockroom_postgres_batch_size', 'Reads or creates that shared a statement.', batchSizes),
    gauge(
      'stockroom_postgres_replicas',
      'Replicas in DATABASE_REPLICA_URLS, in use or not. Each worker counts them.',
      replicas,
    ),
    gauge('stockroom_postgres_replicas_in_use', 'Replicas that serve reads now.', replicasInUse),
    ...(shardReads.length > 0 ? [ofShards(shardReads)] : []),
  ]
}

function ofShards(shardReads: PostgresFigures['shardReads']): Family {
  return counter(
    'stockroom_citus_reads_total',
    'Reads on Citus, by the table and by whether they ask one shard or several.',
    shardReads.map(({ table, shards, number }) => ({ labels: { table, shards }, value: number })),
  )
}
