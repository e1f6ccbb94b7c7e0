import { type BigIntStats, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'

/** A process that has a lock on a file. */
export interface LockHolder {
  readonly processId: number
  /** The name of its program. */
  readonly program: string
}

/** The bytes of a file on which a lock counts. */
interface Bytes {
  readonly first: number
  readonly last: number
}

/**
 * The bytes of the shared file that a writer locks, and readers.
 * https://www.sqlite.org/walformat.html#wal_locks
 */
const WRITER: Bytes = { first: 120, last: 120 }
const READERS: Bytes = { first: 123, last: 127 }

const ANY_BYTE: Bytes = { first: 0, last: Number.POSITIVE_INFINITY }

/** A lock that a process has; those that somebody waits for have an arrow instead. */
const LOCK = /^\d+: POSIX +ADVISORY +(?:READ|WRITE) (?<process>\d+) \S+:(?<inode>\d+) (?<first>\d+) (?<last>\d+|EOF)$/gm

/**
 * Finds the processes that have a lock on the file at `path`, this one included. Only Linux tells, and only of processes that
 * this one may look at; otherwise some or all are missing. Every connection of SQLite has a lock on its file.
 */
export function lockHolders(path: string, bytes = ANY_BYTE): LockHolder[] {
  if (process.platform !== 'linux') return []
  try {
    const file = statSync(path, { bigint: true })
    return [...processesWithLock(file, bytes)]
      .filter(processId => hasOpen(processId, file))
      .map(processId => ({ processId, program: readFileSync(`/proc/${processId}/comm`, 'utf8').trim() }))
  } catch {
    // Some containers have no such list. A process may end meanwhile.
    return []
  }
}

/** Names the other processes that have the database open: `process 4711 (stockroom)`; `another process` if none is known. */
export function otherUsers(path: string): string {
  return named(others(lockHolders(path))) || 'another process'
}

/** Names the other process that writes into the database; if there is none, those that have it open. */
export function writersOrUsers(path: string): string {
  return named(others(lockHolders(`${realpathSync(path)}-shm`, WRITER))) || otherUsers(path)
}

/** Names the processes that read the database of a shared file in a transaction now, this one included. */
export function readers(sharedFile: string): string {
  return named(lockHolders(sharedFile, READERS)) || 'the system does not tell which process'
}

function others(holders: readonly LockHolder[]): LockHolder[] {
  return holders.filter(({ processId }) => processId !== process.pid)
}

function named(holders: readonly LockHolder[]): string {
  return holders
    .map(({ processId, program }) => (processId === process.pid ? 'this process' : `process ${processId} (${program})`))
    .join(', ')
}

function processesWithLock({ ino }: BigIntStats, bytes: Bytes): Set<number> {
  const found = new Set<number>()
  for (const { groups } of readFileSync('/proc/locks', 'utf8').matchAll(LOCK)) {
    if (groups?.inode !== String(ino)) continue
    const last = groups.last === 'EOF' ? Number.POSITIVE_INFINITY : Number(groups.last)
    if (Number(groups.first) <= bytes.last && last >= bytes.first) found.add(Number(groups.process))
  }
  return found
}

/** Files of several file systems may have the same inode number, and the list does not always tell them apart. */
function hasOpen(processId: number, { ino, dev }: BigIntStats): boolean {
  const folder = `/proc/${processId}/fd`
  try {
    return readdirSync(folder).some(descriptor => {
      const open = statSync(`${folder}/${descriptor}`, { bigint: true, throwIfNoEntry: false })
      return open?.ino === ino && open.dev === dev
    })
  } catch {
    return false
  }
}
