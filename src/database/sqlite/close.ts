import { Database } from 'bun:sqlite'
import { existsSync, rmSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { DatabaseUnavailableError } from '../errors.ts'
import { isFailedSync, translated } from './failure.ts'

/** How often the file is opened and closed again, and how long before that, at most. */
const TRIES = 8
const PAUSE_MAX_MS = 20

/**
 * Copies the write-ahead log into the file, as far as other processes allow. Throws if the disk could not store it. The connection
 * must then stay open: a close would copy only what was not copied before, and remove the log. The log stays, because another process
 * may find at the same moment that the disk could not store what it copied.
 */
export function copyLog(connection: Database): void {
  try {
    connection.run('PRAGMA wal_checkpoint(PASSIVE)')
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
      // Either nobody else has the file open, so SQLite checks the log and moves all of it, or this throws. Otherwise, the other
      // process might end meanwhile, and the close would move only the rest, although the disk has lost what was copied before.
      again.run('PRAGMA locking_mode = EXCLUSIVE')
      again.run('SELECT count(*) FROM sqlite_schema')
      // With this lock, SQLite uses no shared file, so it would leave the old one.
      rmSync(log.replace(/-wal$/, '-shm'), { force: true })
    } catch (error) {
      if (!leavesLog(error)) throw error
    }
  }
}

/** On a full disk or with a taken lock the log stays, and the next start uses it. */
function leavesLog(error: unknown): boolean {
  return translated(error) instanceof DatabaseUnavailableError
}
