import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { DatabaseUnavailableError } from '../errors.ts'
import { waitingForLocks } from './connection.ts'
import { isFailedSync, translated } from './failure.ts'

/** How often the file is opened and closed again, and how long before that, at most. */
const TRIES = 8
const PAUSE_MAX_MS = 20

/**
 * Moves the write-ahead log into the file, as far as other processes allow. Throws if the disk could not store it. The connection
 * must then stay open: a close would move only what was not copied before, and remove the log.
 */
export function moveLog(connection: Database): void {
  try {
    waitingForLocks(connection, () => connection.run('PRAGMA wal_checkpoint(TRUNCATE)'))
  } catch (error) {
    if (isFailedSync(error) || !leavesLog(error)) throw error
  }
}

/**
 * Closes the last connection of this process to the file at `path`. While another process has the file open, the log stays. If
 * both close it at the same moment, each may still see the other's lock and leave the log, so this process opens and closes the
 * file again.
 */
export async function closeFile(connection: Database, path: string, log: string): Promise<void> {
  // With its statements; otherwise SQLite keeps the file open and locked until they are garbage-collected.
  connection.close(true)
  for (let tried = 0; tried < TRIES && existsSync(log); tried += 1) {
    // For a random time, so that the processes do not meet again.
    await wait(Math.random() * PAUSE_MAX_MS)
    // The other process may have removed the log, and opening the file would make a new one.
    if (!existsSync(log)) return
    try {
      using again = new Database(path, { readwrite: true, strict: true })
      // Only the last one to close moves the log. Others might copy the rest although the disk has lost what was copied before.
      again.run('SELECT count(*) FROM sqlite_schema')
    } catch (error) {
      if (!leavesLog(error)) throw error
    }
  }
}

/** On a full disk or with a taken lock the log stays, and the next start uses it. */
function leavesLog(error: unknown): boolean {
  return translated(error) instanceof DatabaseUnavailableError
}
