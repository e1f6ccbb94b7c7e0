import { until } from '../until.ts'
import { connected } from './database.ts'
import { runAsDatabaseUser } from './programs.ts'
import { PostgresServer, type ServerOptions, urlAt } from './server.ts'

interface StandbyOptions extends Omit<ServerOptions, 'data'> {
  /** Its name at the primary, as `synchronous_standby_names` takes it. */
  readonly name: string
  /** The port where it finds its primary, if that is not the primary's own. */
  readonly from?: number
}

/** Starts a hot standby: a copy of a server that runs, which follows it by streaming replication and answers reads. */
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

/** Makes a standby the primary, of a new timeline. The one that it followed must have stopped. */
export async function promote(standby: PostgresServer): Promise<void> {
  await standby.ask(sql => sql`SELECT pg_promote()`)
}

/** Lets it receive what its primary writes and show nothing of it, as one that lags. */
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

/** Resolves when the standby shows all that its primary has written so far. */
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

/** Copies the folder while the server runs. What it writes meanwhile, the copy takes from the log of the server. */
async function copyData(primary: PostgresServer, data: string): Promise<void> {
  // One connection, since a backup belongs to that which has started it.
  await using sql = connected(primary.url())
  await sql`SELECT pg_backup_start('standby', fast => true)`
  await runAsDatabaseUser(['cp', '-R', '-p', primary.data, data])
  const [{ label }] = await sql`SELECT labelfile AS label FROM pg_backup_stop(wait_for_archive => false)`
  await runAsDatabaseUser([
    'sh',
    '-c',
    'cd "$1" && rm -rf postmaster.pid postmaster.opts pg_wal/* && printf %s "$2" > backup_label && : > standby.signal',
    'sh',
    data,
    label,
  ])
}
