import { type Stats, statSync } from 'node:fs'

/** Changes within this time may leave the same stamp: some file systems count in steps of two seconds. */
const SAME_STAMP_MS = 3_000

/** A file system may not stamp its directories, so the files themselves are looked at this often. */
const LOOK_INTERVAL_MS = 100

/**
 * Tells whether the files of a directory are still in their places. Creating, removing or renaming one changes the
 * directory's own stamp, so one system call takes the place of a look at each file. Each commit looks twice.
 */
export class Directory {
  readonly #path: string
  /** Taken before the last look that found all files in place; `null` if it is too recent to reveal a later change. */
  #stamped: Stats | null = null
  #until = 0

  constructor(path: string) {
    this.#path = path
  }

  /** Returns whether the files are in their places. Calls `look`, which checks each file, only if one may have changed. */
  hasFilesInPlace(look: () => boolean): boolean {
    const stats = statSync(this.#path, { throwIfNoEntry: false })
    const now = performance.now()
    if (stats && this.#stamped && isSame(stats, this.#stamped) && now < this.#until) return true
    const areInPlace = look()
    this.#stamped = areInPlace && stats && Date.now() - stats.ctimeMs > SAME_STAMP_MS ? stats : null
    this.#until = now + LOOK_INTERVAL_MS
    return areInPlace
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ctimeMs === other.ctimeMs && one.ino === other.ino && one.dev === other.dev
}
