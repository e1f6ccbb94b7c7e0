import { Database } from 'bun:sqlite'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Version } from '../stockroom.ts'
import type { Bench, DatabaseCopy, SeededDatabase } from './bench.ts'
import { type Rows, seed } from './seed.ts'

/** SQLite databases that a version has seeded, each when it is first asked for. */
export function seededDatabases(version: Version, directory: string, interrupted: AbortSignal): Bench['seeded'] {
  const databases = new Map<Rows, Promise<SeededDatabase>>()
  return rows => {
    const database =
      databases.get(rows) ??
      filledDatabase(directory, `${version.name}-${rows.products}`, address =>
        seed(version, address, rows, interrupted),
      )
    databases.set(rows, database)
    // The next to ask tries again.
    database.catch(() => databases.delete(rows))
    return database
  }
}

/** A new SQLite database in the folder that `fill` has filled. */
export async function filledDatabase(
  directory: string,
  name: string,
  fill: (address: string) => Promise<void>,
): Promise<SeededDatabase> {
  const file = join(directory, `${name}.db`)
  await fill(`sqlite:${file}`)

  using database = new Database(file, { readwrite: true, strict: true })
  // Move the write-ahead log into the file, so that a copy of the file is a copy of the database.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  let copies = 0
  return {
    copy: async changed => {
      if (!changed) return { ...opened(file), [Symbol.asyncDispose]: async () => {} }
      const copied = join(directory, `${name}-copy-${++copies}.db`)
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
