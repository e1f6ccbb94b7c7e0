import type { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { getLogger } from '@logtape/logtape'
import { companionFile } from './connection.ts'
import { readers } from './lock-holders.ts'

const log = getLogger(['stockroom', 'database'])

/** A longer log is worth a warning: without a reader that holds it, it begins again at 16 MiB. */
const WARNING_BYTES = 1_073_741_824

/** The size is looked at this often, in milliseconds, while there are commits. */
const INTERVAL_MS = 1_000

/**
 * Watches the size of the write-ahead log. SQLite cannot reset it while somebody reads a state that is still in it, so one
 * long reading transaction lets it grow without bound.
 */
export class LogSize {
  readonly #log: string
  readonly #sharedFile: string
  #lookedAt = Number.NEGATIVE_INFINITY
  #isTold = false

  constructor(connection: Database) {
    this.#log = companionFile(connection, '-wal')
    this.#sharedFile = companionFile(connection, '-shm')
  }

  get bytes(): number {
    return statSync(this.#log, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Call it after each commit. Warns once, and again only after the log has shrunk. */
  committed(): void {
    const now = performance.now()
    if (now - this.#lookedAt < INTERVAL_MS) return
    this.#lookedAt = now
    const { bytes } = this
    const isLong = bytes >= WARNING_BYTES
    if (isLong && !this.#isTold) {
      log.warning(
        '{log} has {bytes} bytes, and grows as long as somebody reads the database in one transaction: {readers}. End that ' +
          'transaction before the disk is full',
        { log: this.#log, bytes, readers: readers(this.#sharedFile) },
      )
    }
    this.#isTold = isLong
  }
}
