import { constants, type Database } from 'bun:sqlite'
import { accessSync, constants as modes, statfsSync } from 'node:fs'
import { getLogger } from '@logtape/logtape'
import { DatabaseDamagedError, DatabaseUnavailableError } from '../errors.ts'
import { isBusy, translated } from './failure.ts'

const log = getLogger(['stockroom', 'database'])

/** How long a file is taken to be in its place, in milliseconds: looking costs a system call. */
const IN_PLACE_MS = 1_000

/** With less room on the disk than this, a service tries a write before it calls itself ready. */
const LITTLE_ROOM_BYTES = 16_777_216

/** After a write has failed, a disk with less room than this counts as full: the next large write would fail again. */
const ROOM_MIN_BYTES = 262_144

/** What is known to be wrong with the file. Damage stays until the process ends; everything else may pass. */
export class Condition {
  readonly #connection: Database
  readonly #path: string
  #damage: DatabaseDamagedError | null = null
  #failedAt = Number.NEGATIVE_INFINITY
  #recoveredAt = Number.NEGATIVE_INFINITY
  #inPlaceUntil = 0

  constructor(connection: Database, path: string) {
    this.#connection = connection
    this.#path = path
  }

  /** Takes note of what went wrong in a read, and gives the error that callers are told. */
  afterRead(error: unknown): unknown {
    const told = translated(error)
    if (told instanceof DatabaseDamagedError && !this.#damage) {
      this.#damage = told
      log.error(
        '{path} is damaged, and writes are refused from now on: {reason}. Stop what uses it, put the latest backup in its ' +
          'place, and start again; docs/operations.md, "A damaged database", tells how',
        { path: this.#path, reason: told.reason },
      )
    }
    return told
  }

  afterWrite(error: unknown): unknown {
    const told = this.afterRead(error)
    if (told instanceof DatabaseUnavailableError && !isBusy(error)) this.#failedAt = performance.now()
    return told
  }

  /** Throws when the file is known to be damaged: nothing more is written into it. */
  mustBeSound(): void {
    if (this.#damage) throw this.#damage
  }

  /** Throws when the file is not where it was: SQLite goes on with a lost file, where nobody would find a write again. */
  mustBeInPlace(): void {
    const isMoved = new Int32Array(2)
    this.#connection.fileControl(constants.SQLITE_FCNTL_HAS_MOVED, isMoved)
    if (isMoved[0] !== 0) {
      throw new DatabaseUnavailableError('the database cannot be used: its file was deleted, moved or replaced')
    }
    this.#inPlaceUntil = performance.now() + IN_PLACE_MS
  }

  /** The same for reads, which are many. */
  mustHaveBeenInPlace(): void {
    if (performance.now() > this.#inPlaceUntil) this.mustBeInPlace()
  }

  /** Throws when nothing can be written for a reason that can be seen without writing. */
  mustLookWritable(): void {
    this.mustBeSound()
    this.mustBeInPlace()
    try {
      accessSync(this.#path, modes.W_OK)
    } catch (error) {
      throw new DatabaseUnavailableError('the database cannot be written to', { cause: error })
    }
    if (this.#isFailing && this.#room() < ROOM_MIN_BYTES) {
      throw new DatabaseUnavailableError('the disk of the database is full')
    }
  }

  /** Whether only a write can tell that writes can be done. */
  get isInDoubt(): boolean {
    return this.#isFailing || this.#room() < LITTLE_ROOM_BYTES
  }

  /** When a write failed last, by `performance.now()`. */
  get failedAt(): number {
    return this.#failedAt
  }

  /** A write has succeeded that began after the last one failed. */
  recovered(): void {
    this.#recoveredAt = performance.now()
  }

  get #isFailing(): boolean {
    return this.#failedAt > this.#recoveredAt
  }

  #room(): number {
    const { bavail, bsize } = statfsSync(this.#path)
    return bavail * bsize
  }
}
