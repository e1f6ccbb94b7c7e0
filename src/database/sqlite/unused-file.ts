import { Database } from 'bun:sqlite'
import {
  type BigIntStats,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { syncToDisk } from '../../program/new-file.ts'
import { OperatorError } from '../../program/operator-error.ts'
import { isBusy, isDamage, unusable } from './failure.ts'
import { lockHolders, otherUsers } from './lock-holders.ts'

/** Only the owner may use a new file, because it holds personal data. */
const MODE = 0o600

/** A place for a database, with or without one, that nobody else uses. Nobody can open the file until it is disposed of. */
export class UnusedFile implements Disposable {
  /** The path without links. */
  readonly path: string
  readonly #found: BigIntStats | undefined
  /** `null` if SQLite cannot lock the file, because it is missing or damaged. */
  #connection: Database | null

  /** Throws an `OperatorError` if another process has the file open, or the path is a link that leads nowhere. */
  constructor(path: string) {
    this.path = existsSync(path) ? realpathSync(path) : path
    // The disk that it leads to may be missing.
    if (lstatSync(this.path, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new OperatorError(`${path} is a link that leads to no file; restore to the path that it leads to`)
    }
    this.#found = statSync(this.path, { bigint: true, throwIfNoEntry: false })
    this.#connection = this.#found && this.#found.size > 0n ? lockedAlone(this.path) : null
  }

  /**
   * Puts the file at `replacement`, which must be in the same folder, in place of this one, and gives it the same owner. Returns
   * the name under which this one is kept, or `null` if there was none. At no moment is a file beside the log of another.
   */
  replaceWith(replacement: string): string | null {
    this.#makeReady(replacement)
    const isLogInFile = this.#moveLog()
    const kept = `${this.path}.replaced-${new Date().toISOString().replaceAll(':', '.')}`
    if (this.#found) giveSecondName(this.path, kept)
    for (const ending of ['-wal', '-journal']) {
      if (isLogInFile) rmSync(this.path + ending, { force: true })
      else if (existsSync(this.path + ending)) renameSync(this.path + ending, kept + ending)
    }
    rmSync(`${this.path}-shm`, { force: true })
    renameSync(replacement, this.path)
    syncToDisk(dirname(this.path), 'r')
    return this.#found ? kept : null
  }

  [Symbol.dispose](): void {
    this.#connection?.close(true)
    this.#connection = null
  }

  /** Stays locked, and keeps others from using the log. Returns false if the file is too damaged. */
  #moveLog(): boolean {
    try {
      this.#connection?.run('PRAGMA journal_mode = DELETE')
      // Otherwise closing it would remove the journal of a process that uses the new file already.
      this.#connection?.run('PRAGMA journal_mode = MEMORY')
      return this.#connection !== null
    } catch (error) {
      if (!isDamage(error)) throw unusable(error, this.path)
      // Closing it later might remove the log of the new file.
      this[Symbol.dispose]()
      return false
    }
  }

  #makeReady(replacement: string): void {
    chmodSync(replacement, this.#found ? Number(this.#found.mode & 0o777n) : MODE)
    const { uid, gid } = statSync(replacement, { bigint: true })
    if (!this.#found) giveToOwnerOfFolder(replacement)
    else if (this.#found.uid !== uid || this.#found.gid !== gid) {
      chownSync(replacement, Number(this.#found.uid), Number(this.#found.gid))
    }
    syncToDisk(replacement, 'r+')
  }
}

/** Opens a file so that no other process can. Returns `null` if it is too damaged. */
function lockedAlone(path: string): Database | null {
  const connection = new Database(path, { readwrite: true, strict: true })
  try {
    connection.run('PRAGMA locking_mode = EXCLUSIVE')
    connection.run('BEGIN EXCLUSIVE')
    connection.run('COMMIT')
    return connection
  } catch (error) {
    connection.close(true)
    if (isBusy(error) || (isDamage(error) && lockHolders(path).length > 0)) {
      throw new OperatorError(`${path} is in use by ${otherUsers(path)}; stop everything that uses it first`)
    }
    if (isDamage(error)) return null
    throw unusable(error, path)
  }
}

/** Root makes a file for the service that its folder belongs to. Others can make only files of their own. */
export function giveToOwnerOfFolder(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(dirname(realpathSync(path)))
  try {
    chownSync(path, uid, gid)
  } catch {
    // In a container, root may not know the owner of a folder of the host.
  }
}

function giveSecondName(path: string, kept: string): void {
  try {
    linkSync(path, kept)
  } catch {
    // Some file systems have no hard links. There, no file is at the path for a moment.
    renameSync(path, kept)
  }
}
