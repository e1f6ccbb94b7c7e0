import type { Database } from 'bun:sqlite'
import { type BigIntStats, statSync } from 'node:fs'
import { companionFile } from './connection.ts'

/** A file by its name, as it was when SQLite opened it. */
interface OpenedFile {
  readonly path: string
  readonly opened: BigIntStats
}

/**
 * The write-ahead log and the file that connections share. SQLite never removes them while a connection is open, but people do,
 * when they put another database in place of the one in use. Then the connection goes on with the removed files, and other
 * processes make new ones.
 */
export class CompanionFiles {
  readonly #files: readonly OpenedFile[]

  /** The connection must have read the database already, so that both files exist. */
  constructor(connection: Database) {
    this.#files = (['-wal', '-shm'] as const).map(ending => {
      const path = companionFile(connection, ending)
      return { path, opened: statSync(path, { bigint: true }) }
    })
  }

  /** The name of a file that was removed or replaced since the connection opened it; `null` if both are in place. */
  findLost(): string | null {
    return this.#files.find(file => !isInPlace(file))?.path ?? null
  }
}

/** Nothing else gets the inode while SQLite has the file open. */
function isInPlace({ path, opened }: OpenedFile): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found !== undefined && found.ino === opened.ino && found.dev === opened.dev
}
