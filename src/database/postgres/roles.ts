/**
 * Makes a read fail on a standby with "recovery is in progress", before it finds anything. PostgreSQL evaluates the offset
 * once, even if there are no rows.
 */
export function onPrimary(sql: string): string {
  return `SELECT * FROM (${sql}) AS shown
    OFFSET CASE WHEN pg_is_in_recovery() THEN (pg_current_wal_lsn() IS NULL)::int ELSE 0 END`
}

/** Makes a read fail on a primary, such as a replica that was promoted. */
export function onStandby(sql: string): string {
  return `SELECT * FROM (${sql}) AS shown OFFSET CASE WHEN pg_is_in_recovery() THEN 0 ELSE -1 END`
}
