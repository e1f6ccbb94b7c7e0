import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  constants as flags,
  fstatSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { SharedWords } from './shared-words.ts'

/** A place in the write-ahead log: all frames of one generation of it, up to the last one of a commit. */
export interface LogPosition {
  /** Random; they change whenever the log starts again from its beginning. */
  readonly salts: readonly [number, number]
  readonly frames: number
}

/** An entry has two salts, a number of frames, and the check sum of these. */
const ENTRY_WORDS = 4

/** So that zeros are no entry. */
const CHECK = 0x53_74_6f_63

/** The entries' places in the file, in words. */
const SYNCED = 0
const LOST = ENTRY_WORDS
const BYTES = 2 * ENTRY_WORDS * Int32Array.BYTES_PER_ELEMENT

/**
 * A small file beside the database in which the processes that have it open tell each other how far its log is on the disk, and
 * whether the disk has lost a part of it. Without the file, they would only sync more often.
 */
export class LogRecord implements Disposable {
  readonly #path: string
  readonly #file: number
  readonly #shared: SharedWords
  readonly #entry = new Int32Array(ENTRY_WORDS)

  static exists(database: string): boolean {
    return existsSync(pathOf(database))
  }

  constructor(database: string) {
    this.#path = pathOf(database)
    const { mode, uid, gid } = statSync(database)
    this.#file = openSync(this.#path, flags.O_RDWR | flags.O_CREAT, mode & 0o777)
    const { size } = fstatSync(this.#file)
    // Everybody who may use the database may use this file, as with the files that SQLite makes.
    if (size === 0) fchmodSync(this.#file, mode & 0o777)
    if (size === 0 && process.geteuid?.() === 0) fchownSync(this.#file, uid, gid)
    // If the file is mapped while its bytes are missing, a write to them on a full disk kills the process.
    if (size < BYTES) writeSync(this.#file, new Uint8Array(BYTES - size), 0, BYTES - size, size)
    this.#shared = new SharedWords(this.#file, BYTES, 'write')
    // It may be older or newer than the log, if somebody has restored one of them.
    this.#write(SYNCED, null)
  }

  /** Whether a process has synced the log so far. */
  covers(position: LogPosition): boolean {
    return isWithin(position, this.#read(SYNCED))
  }

  synced(position: LogPosition): void {
    this.#write(SYNCED, position)
  }

  /** The log of this generation counts as lost from now on, for all processes. */
  lost(position: LogPosition): void {
    this.#write(LOST, position)
  }

  /** Whether the disk has lost a part of the log of this generation; without a position, of any generation. */
  isLost(position?: LogPosition): boolean {
    const lost = this.#read(LOST)
    return lost !== null && (position === undefined || isSameLog(position, lost))
  }

  /** Call it when the log has been moved into the database file. */
  recovered(): void {
    this.#write(LOST, null)
  }

  /** Call it when nobody else has the database open. If somebody opens it meanwhile, they only sync more often. */
  remove(): void {
    rmSync(this.#path, { force: true })
  }

  [Symbol.dispose](): void {
    this.#shared[Symbol.dispose]()
    closeSync(this.#file)
  }

  #read(place: number): LogPosition | null {
    this.#shared.look()
    const [first = 0, second = 0, frames = 0, check] = this.#shared.words.subarray(place, place + ENTRY_WORDS)
    // It may be read amid a write of another process.
    return check === (first ^ second ^ frames ^ CHECK) ? { salts: [first, second], frames } : null
  }

  #write(place: number, position: LogPosition | null): void {
    if (position === null) {
      this.#entry.fill(0)
    } else {
      const [first, second] = position.salts
      this.#entry.set([first, second, position.frames, first ^ second ^ position.frames ^ CHECK])
    }
    this.#shared.write(place, this.#entry)
  }
}

/** Processes that open the database by different links need the same file. */
function pathOf(database: string): string {
  return `${realpathSync(database)}-synced`
}

/** Whether all frames up to `position` are among those up to `end`. */
export function isWithin(position: LogPosition, end: LogPosition | null): boolean {
  return end !== null && isSameLog(position, end) && position.frames <= end.frames
}

function isSameLog(one: LogPosition, other: LogPosition): boolean {
  return one.salts[0] === other.salts[0] && one.salts[1] === other.salts[1]
}
