import { Database } from 'bun:sqlite'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Version } from '../stockroom.ts'
import type { Bench, DatabaseCopy, SeededDatabase } from './bench.ts'
import { seed } from './seed.ts'

/** Makes a new database that `fill` has filled. */
export type Filled = (name: string, fill: (address: string) => Promise<void>) => Promise<SeededDatabase>

/** Databases that a version has seeded, each when it is first asked for. */
export function seededDatabases(version: Version, filled: Filled, interrupted: AbortSignal): Bench['seeded'] {
  const databases = new Map<string, Promise<SeededDatabase>>()
  return rows => {
    const name = `seeded_${version.name}_${rows.products}`
    const database = databases.get(name) ?? filled(name, address => seed(version, address, rows, interrupted))
    databases.set(name, database)
    // The next to ask tries again.
    database.catch(() => databases.delete(name))
    return database
  }
}

/** Makes SQLite databases in the folder. */
export function filledIn(directory: string): Filled {
  return (name, fill) => filledFile(join(directory, `${name}.db`), fill)
}

async function filledFile(file: string, fill: (address: string) => Promise<void>): Promise<SeededDatabase> {
  await fill(`sqlite:${file}`)

  using database = new Database(file, { readwrite: true, strict: true })
  // Move the write-ahead log into the file, so that a copy of the file is a copy of the database.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  let copies = 0
  return {
    copy: async changed => {
      if (!changed) return { ...opened(file), [Symbol.asyncDispose]: async () => {} }
      const copied = `${file}-copy-${++copies}`
      await copyFile(file, copied)
      return { ...opened(copied), [Symbol.asyncDispose]: () => removeDatabase(copied) }
    },
  }
}

function opened(file: string): Omit<DatabaseCopy, typeof Symbol.asyncDispose> {
  return {
    address: `sqlite:${file}`,
    count: async table => countRows(file, table),
    processorSeconds: () => null,
  }
}

function countRows(file: string, table: 'products' | 'reviews'): number {
  using database = new Database(file, { readwrite: true, strict: true })
  return database.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${table}`).get()?.rows ?? 0
}

async function removeDatabase(file: string): Promise<void> {
  for (const part of [file, `${file}-wal`, `${file}-shm`]) await rm(part, { force: true })
}
