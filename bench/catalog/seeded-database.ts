import { Database } from 'bun:sqlite'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Version } from '../stockroom.ts'
import type { SeededDatabase } from './bench.ts'
import { seed } from './seed.ts'

export async function seedDatabase(
  version: Version,
  directory: string,
  interrupted: AbortSignal,
): Promise<SeededDatabase> {
  const file = join(directory, `${version.name}.db`)
  await seed(version, `sqlite:${file}`, interrupted)

  using database = new Database(file, { readwrite: true, strict: true })
  // Move the write-ahead log into the file, so that a copy of the file is a copy of the database.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const rows = database.query<{ id: number }, []>('SELECT id FROM products ORDER BY id').all()
  let copies = 0
  return {
    productIds: rows.map(row => row.id),
    copy: async () => {
      const copied = join(directory, `${version.name}-copy-${++copies}.db`)
      await copyFile(file, copied)
      return {
        address: `sqlite:${copied}`,
        countProducts: async () => countProducts(copied),
        processorSeconds: () => null,
        [Symbol.asyncDispose]: () => removeDatabase(copied),
      }
    },
  }
}

function countProducts(file: string): number {
  using database = new Database(file, { readwrite: true, strict: true })
  return database.query<{ products: number }, []>('SELECT count(*) AS products FROM products').get()?.products ?? 0
}

async function removeDatabase(file: string): Promise<void> {
  for (const part of [file, `${file}-wal`, `${file}-shm`]) await rm(part, { force: true })
}
