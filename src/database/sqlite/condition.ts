import type { Database } from 'bun:sqlite'
import { accessSync, constants as modes } from 'node:fs'
import { getLogger } from '@logtape/logtape'
import { errorMessage } from '../../program/error-message.ts'
import { DatabaseDamagedError, DatabaseReplacedError, DatabaseUnavailableError } from '../errors.ts'
import type { writeTrial } from '../write-trial.ts'
import { freeBytes, isBusy, translated } from './failure.ts'
import { watchPlaces } from './places.ts'

const log = getLogger(['stockroom', 'database'])

/** Reads check this often, in milliseconds, that the files are still in their places. */
const IN_PLACE_MS = 100

/** With less free space than this, readiness is decided by a trial write. */
const LITTLE_SPACE_BYTES = 16_777_216

/** After a failed write, a disk with less free space than this counts as full, because the next large write would fail. */
const SPACE_MIN_BYTES = 262_144

/**
 * Tracks problems with the file. Damage and a replaced database count until the process ends; other problems may pass.
 */
export class FileCondition {
  readonly #path: string
  readonly #places: ReturnType<typeof watchPlaces>
  readonly #isLogLost: () => boolean
  #damage: DatabaseDamagedError | null = null
  /** Whether the disk has lost a part of the log. */
  #hasLostLog = false
  #replaced: DatabaseReplacedError | null = null
  /** The last time that a write failed, by `performance.now()`; `null` if one has succeeded since. */
  #failedAt: number | null = null
  /** Whether the last writes waited in vain for the lock of another program. */
  #isLockedOut = false
  #inPlaceUntil = 0
  #isClosed = false

  /**
   * The connection must have read the database already, so that all files exist. `isLogLost` tells whether another process has
   * found that the disk lost a part of the log.
   */
  constructor(connection: Database, path: string, isLogLost: () => boolean) {
    this.#path = path
    this.#isLogLost = isLogLost
    this.#places = watchPlaces(connection)
    process.once('exit', this.#leave)
  }

  /** Runs a read, and records its error. */
  reading<Result>(read: () => Result): Result {
    try {
      return read()
    } catch (error) {
      throw this.afterRead(error)
    }
  }

  /** Records an error of a read, and returns the error for the caller. */
  afterRead(error: unknown): unknown {
    const reported = translated(error)
    // A restored file under the log of the old one looks damaged.
    const replaced = reported instanceof DatabaseDamagedError ? this.findReplaced() : null
    if (replaced) return replaced
    if (reported instanceof DatabaseDamagedError && !this.#damage) {
      this.#damage = reported
      log.error(
        '{path} is damaged: {reason}. Writes are refused from now on. Stop everything that uses the file, restore the ' +
          'latest backup, and start again; see "A damaged database" in docs/operations.md',
        { path: this.#path, reason: reported.reason },
      )
    }
    return reported
  }

  /** Records that commits could not be made durable, and returns the error for the callers. */
  afterSync(error: unknown): DatabaseDamagedError {
    const reason = errorMessage(error)
    this.#hasLostLog = true
    this.#damage ??= new DatabaseDamagedError(`its log could not be stored: ${reason}`, { cause: error })
    log.error(
      '{path}: the disk could not store the last writes: {reason}. Writes are refused from now on. Check the disk, then start again',
      { path: this.#path, reason },
    )
    return this.#damage
  }

  afterWrite(error: unknown): unknown {
    const reported = this.afterRead(error)
    if (isBusy(error)) this.#isLockedOut = true
    else if (reported instanceof DatabaseUnavailableError) this.#failedAt = performance.now()
    return reported
  }

  /** Records that a write has got the write lock. */
  locked(): void {
    this.#isLockedOut = false
  }

  /** Call it before the connection is closed: SQLite then removes the log, which does not mean that the database was replaced. */
  closed(): void {
    this.#isClosed = true
    this.#inPlaceUntil = 0
    process.off('exit', this.#leave)
  }

  mustBeOpen(): void {
    if (this.#isClosed) throw new DatabaseUnavailableError('the database is closed')
  }

  /** Throws if nothing more may be written into the file: it is known to be damaged, or is not in its place. */
  mustBeSound(): void {
    this.mustBeOpen()
    const damage = this.findDamage()
    if (damage) throw damage
    this.mustBeInPlace()
  }

  findDamage(): DatabaseDamagedError | null {
    if (!this.#hasLostLog && this.#isLogLost())
      this.afterSync(new Error('another process that uses the file has found it'))
    return this.#damage
  }

  /**
   * Returns an error if the log or the shared file is no longer the one that the connection has open. SQLite never removes them
   * meanwhile, but people do, when they put another database in place of the one in use. Then nothing may be read or written,
   * and the connection must not even be closed, because SQLite would move its log into the new database.
   */
  findReplaced(): DatabaseReplacedError | null {
    if (this.#replaced || this.#places.areInPlace()) return this.#replaced
    const lost = this.#places.lostCompanion()
    if (lost !== undefined) {
      this.#replaced = new DatabaseReplacedError(lost)
      log.error(
        '{path} was replaced while it was in use: {lost} was removed or replaced. Nothing is read or written any more. Stop ' +
          'everything that uses the file, put the backup in place with `stockroom restore`, and start again',
        { path: this.#path, lost },
      )
    }
    return this.#replaced
  }

  /** Throws if one of the files was deleted, moved or replaced: SQLite would go on writing into the lost file. */
  mustBeInPlace(): void {
    this.mustBeOpen()
    if (!this.#replaced && this.#places.areInPlace()) {
      this.#inPlaceUntil = performance.now() + IN_PLACE_MS
      return
    }
    throw (
      this.findReplaced() ??
      new DatabaseUnavailableError('the database cannot be used: its file was deleted, moved or replaced')
    )
  }

  /** Like `mustBeInPlace`, but checks only now and then, because reads are frequent. */
  mustHaveBeenInPlace(): void {
    if (this.#replaced) throw this.#replaced
    if (performance.now() > this.#inPlaceUntil) this.mustBeInPlace()
  }

  /** Throws if writes cannot succeed, as far as that shows without writing. */
  mustLookWritable(): void {
    this.mustBeSound()
    try {
      accessSync(this.#path, modes.W_OK)
    } catch (error) {
      throw new DatabaseUnavailableError('the database cannot be written to', { cause: error })
    }
    if (this.#failedAt !== null && freeBytes(this.#path) < SPACE_MIN_BYTES) {
      throw new DatabaseUnavailableError('the disk of the database is full')
    }
  }

  /** Rejects if writes fail. Tries one, with `writeSucceeds`, only if nothing else can tell. */
  async mustTakeWrites(writeSucceeds: ReturnType<typeof writeTrial>): Promise<void> {
    if (this.#isLockedOut) {
      // It waits for the lock for longer than a health check may take, and tells when a write succeeds again.
      writeSucceeds(Number.NEGATIVE_INFINITY).catch(() => {})
      throw new DatabaseUnavailableError('writes wait in vain for another program that holds the write lock')
    }
    const failedAt = this.#failedAt
    if (failedAt === null && freeBytes(this.#path) >= LITTLE_SPACE_BYTES) return
    await writeSucceeds(failedAt ?? Number.NEGATIVE_INFINITY)
    if (this.#failedAt === failedAt) this.#failedAt = null
  }

  /**
   * Whether the files must stay open. If the database was replaced, a close would move the log of the old one into the new one,
   * or remove the log of a process that uses the new one. If the disk has lost a part of the log, a close would move into the
   * file whatever is in its place: only a start checks the log.
   */
  mustStayOpen(): boolean {
    this.findDamage()
    return this.findReplaced() !== null || this.#hasLostLog
  }

  /** The runtime closes every connection when the process exits, however it exits. Then it ends by SIGKILL, after everything else. */
  readonly #leave = () => {
    if (this.mustStayOpen()) process.kill(process.pid, 'SIGKILL')
  }
}
