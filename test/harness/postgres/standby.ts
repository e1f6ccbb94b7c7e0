import { until } from '../until.ts'
import { connected } from './database.ts'
import { runAsDatabaseUser } from './programs.ts'
import { PostgresServer, type ServerOptions, urlAt } from './server.ts'

interface StandbyOptions extends Omit<ServerOptions, 'data'> {
  /** Its name for the primary's `synchronous_standby_names`. */
  readonly name: string
  /** The port at which it reaches its primary, if not the primary's own. */
  readonly from?: number
}

/** Starts a hot standby: a copy of a running server that follows it by streaming replication and answers reads. */
export async function startStandby(
  primary: PostgresServer,
  { name, from = primary.port, settings = {}, ...options }: StandbyOptions,
): Promise<PostgresServer> {
  const standby = await PostgresServer.start({
    ...options,
    settings: { cluster_name: name, primary_conninfo: urlAt(from, 'postgres'), ...settings },
    data: path => copyData(primary, path),
  })
  await until(async () => {
    const rows = await primary.ask(sql => sql`SELECT FROM pg_stat_replication WHERE application_name = ${name}`)
    return rows.length === 1
  })
  return standby
}

/** Starts a stopped server as a standby of the one that has taken its place. */
export async function startAsStandby(stopped: PostgresServer, primary: PostgresServer): Promise<void> {
  await runAsDatabaseUser([
    'sh',
    '-c',
    `cd "$1" && printf "primary_conninfo = '%s'\\n" "$2" >> postgresql.auto.conf && : > standby.signal`,
    ...['sh', stopped.data, urlAt(primary.port, 'postgres')],
  ])
  await stopped.start()
}

/** Promotes a standby. Its primary must have stopped. */
export async function promote(standby: PostgresServer): Promise<void> {
  await standby.ask(sql => sql`SELECT pg_promote()`)
}

/** Lets it receive its primary's writes without showing them, like a standby that lags. */
export async function pauseReplay(standby: PostgresServer): Promise<void> {
  await standby.ask(sql => sql`SELECT pg_wal_replay_pause()`)
  await until(async () => {
    const [row] = await standby.ask<{ state: string }>(sql => sql`SELECT pg_get_wal_replay_pause_state() AS state`)
    return row?.state === 'paused'
  })
}

export async function resumeReplay(standby: PostgresServer): Promise<void> {
  await standby.ask(sql => sql`SELECT pg_wal_replay_resume()`)
}

/** Resolves when the standby shows everything its primary has written so far. */
export async function caughtUp(standby: PostgresServer, primary: PostgresServer): Promise<void> {
  const [{ written } = { written: '' }] = await primary.ask<{ written: string }>(
    sql => sql`SELECT pg_current_wal_lsn()::text AS written`,
  )
  await until(async () => {
    const [row] = await standby.ask<{ shown: boolean }>(
      sql => sql`SELECT pg_last_wal_replay_lsn() >= ${written}::pg_lsn AS shown`,
    )
    return row?.shown === true
  })
}

/** Copies the folder while the server runs. The copy takes concurrent writes from the server's log. */
async function copyData(primary: PostgresServer, data: string): Promise<void> {
  // One connection, because a backup belongs to the connection that started it.
  await using sql = connected(primary.url())
  const [{ isOld }] = await sql`SELECT current_setting('server_version_num')::int < 150000 AS "isOld"`
  // Version 14 has other names for both.
  const [start, stop] = isOld
    ? ["pg_start_backup('standby', true, false)", 'pg_stop_backup(false, false)']
    : ["pg_backup_start('standby', fast => true)", 'pg_backup_stop(wait_for_archive => false)']
  await sql.unsafe(`SELECT ${start}`)
  await runAsDatabaseUser(['cp', '-R', '-p', primary.data, data])
  const [{ label }] = await sql.unsafe(`SELECT labelfile AS label FROM ${stop}`)
  await runAsDatabaseUser([
    'sh',
    '-c',
    'cd "$1" && rm -rf postmaster.pid postmaster.opts pg_wal/* && printf %s "$2" > backup_label && : > standby.signal',
    'sh',
    data,
    label,
  ])
}
