import { DatabaseUnavailableError } from '../errors.ts'
import { writeTrial } from '../write-trial.ts'
import type { Query } from './pool.ts'

/** SQL for the server that a statement runs on: it differs after a restart, too. */
const SERVER = 'pg_postmaster_start_time()::text'

interface Primary {
  readonly readPrimary: Query
  readonly write: Query
  /** Replaces the connections of reads and writes. */
  readonly reconnect: () => void
}

/** Makes the check whether the primary can be read from and written to. */
export function readinessOf(primary: Primary) {
  // A new table takes space from the disk. A row might find some in its own table that is left for nothing else.
  const writeSucceeds = writeTrial(() =>
    primary.write('CREATE TEMP TABLE stockroom_write_trial ON COMMIT DROP AS SELECT 1 AS value').catch(error => {
      // The user may not be allowed to make one, which says nothing of the disk.
      if (!(error instanceof Bun.SQL.PostgresError)) throw error
    }),
  )
  /** The last time that a write failed because the server's disk was full, by `performance.now()`. */
  let lastFullAt: number | null = null
  const diskWasFull = () => {
    lastFullAt = performance.now()
  }

  /** Rejects while reads or writes fail. It tries a write only after a write has failed on a full disk. */
  const probe = async () => {
    const [read] = await primary.readPrimary<{ server: string }>(`SELECT ${SERVER} AS server FROM migrations LIMIT 1`)
    // It matches no row to lock, but a read-only server refuses it anyway.
    const [written] = await primary.write<{ server: string }>(`
      SELECT ${SERVER} AS server
      FROM (SELECT) AS always LEFT JOIN (SELECT FROM migrations WHERE name = '' FOR UPDATE) AS none ON TRUE`)
    if (read?.server !== written?.server) {
      primary.reconnect()
      throw new DatabaseUnavailableError('the database cannot be used: reads and writes lead to different servers')
    }
    const fullAt = lastFullAt
    if (fullAt === null) return
    await writeSucceeds(fullAt)
    if (lastFullAt === fullAt) lastFullAt = null
  }

  return { probe, diskWasFull }
}
