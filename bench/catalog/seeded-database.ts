import { Database } from 'bun:sqlite'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { seeding } from './servers.ts'

const ROWS = { categories: 20, products: 5_000, users: 200, reviews: 15_000 }

/** The one database that all servers begin with. */
export interface SeededDatabase {
  readonly productIds: readonly number[]
  /** A fresh copy of it, for one server to change. */
  readonly copy: () => Promise<DatabaseCopy>
}

/** Disposing removes it. */
export interface DatabaseCopy extends AsyncDisposable {
  readonly file: string
}

export async function seedDatabase(directory: string, interrupted: AbortSignal): Promise<SeededDatabase> {
  const file = join(directory, 'seeded.db')
  const seed = Bun.spawn(seeding(file, ROWS), {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    signal: interrupted,
  })
  const [complaint, status] = await Promise.all([seed.stderr.text(), seed.exited])
  interrupted.throwIfAborted()
  if (status !== 0) throw new Error(`the database could not be seeded: ${complaint.trim()}`)

  using database = new Database(file, { readwrite: true, strict: true })
  // All of it in the one file, so that a copy of the file is a copy of the database.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const rows = database.query<{ id: number }, []>('SELECT id FROM products ORDER BY id').all()
  let copies = 0
  return {
    productIds: rows.map(row => row.id),
    copy: async () => {
      const copied = join(directory, `copy-${++copies}.db`)
      await copyFile(file, copied)
      return { file: copied, [Symbol.asyncDispose]: () => removeDatabase(copied) }
    },
  }
}

/** How many products a database holds after its server has gone: what was lost cannot be counted. */
export function countProducts(file: string): number {
  using database = new Database(file, { readwrite: true, strict: true })
  return database.query<{ products: number }, []>('SELECT count(*) AS products FROM products').get()?.products ?? 0
}

async function removeDatabase(file: string): Promise<void> {
  for (const part of [file, `${file}-wal`, `${file}-shm`]) await rm(part, { force: true })
}
