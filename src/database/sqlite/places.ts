import type { Database } from 'bun:sqlite'
import { type BigIntStats, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { companionFile, hasMoved } from './connection.ts'

/** Changes within this time may leave the same stamp: some file systems count in steps of two seconds. */
const SAME_STAMP_MS = 3_000

/** A file system may not stamp its directories, so the files themselves are looked at this often. */
const LOOK_INTERVAL_MS = 100

/** A file by its name, as it was when SQLite opened it. */
interface OpenedFile {
  readonly path: string
  readonly opened: BigIntStats
}

/**
 * Watches whether the files that the connection has open are still in their places. Creating, removing or renaming one changes
 * the stamp of their directory, so one system call takes the place of a look at each file. Each commit looks twice.
 */
export function watchPlaces(connection: Database) {
  /** The write-ahead log and the file that connections share. */
  const companions = (['-wal', '-shm'] as const).map((ending): OpenedFile => {
    const path = companionFile(connection, ending)
    return { path, opened: statSync(path, { bigint: true }) }
  })
  const directory = dirname(companionFile(connection, '-wal'))
  /** Taken before the last look that found all files in place; `null` if it is too recent to reveal a later change. */
  let stamped: Stats | null = null
  let until = 0
  return {
    areInPlace: (): boolean => {
      const stats = statSync(directory, { throwIfNoEntry: false })
      const now = performance.now()
      if (stats && stamped && isSame(stats, stamped) && now < until) return true
      const areInPlace = companions.every(isInPlace) && !hasMoved(connection)
      stamped = areInPlace && stats && Date.now() - stats.ctimeMs > SAME_STAMP_MS ? stats : null
      until = now + LOOK_INTERVAL_MS
      return areInPlace
    },
    /** The path of a companion that was removed or replaced. */
    lostCompanion: () => companions.find(file => !isInPlace(file))?.path,
  }
}

/** Nothing else gets the inode while SQLite has the file open. */
function isInPlace({ path, opened }: OpenedFile): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found !== undefined && found.ino === opened.ino && found.dev === opened.dev
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ctimeMs === other.ctimeMs && one.ino === other.ino && one.dev === other.dev
}
