import { Database } from 'bun:sqlite'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { CatalogFiles, ProductLine, ReviewLine } from '../catalog-files.ts'
import { INDEXES, TABLES } from './statements.ts'

/** Fills the peer's database with the same rows. */
export async function fillPeerDatabase(
  path: string,
  { folder }: CatalogFiles,
  interrupted: AbortSignal,
): Promise<void> {
  using database = new Database(path, { create: true, strict: true })
  database.run('PRAGMA synchronous = OFF')
  database.run('PRAGMA journal_mode = MEMORY')
  database.run('PRAGMA cache_size = -500000')
  database.run(TABLES)
  const fill = async <Line>(resource: string, sql: string, values: (line: Line) => (string | number | null)[]) => {
    const statement = database.query(sql)
    database.run('BEGIN')
    for await (const text of createInterface({ input: createReadStream(join(folder, `${resource}.ndjson`)) })) {
      interrupted.throwIfAborted()
      statement.run(...values(JSON.parse(text)))
    }
    database.run('COMMIT')
  }
  await fill<{ id: number; name: string; description: string }>(
    'categories',
    'INSERT INTO categories VALUES (?, ?, ?)',
    ({ id, name, description }) => [id, name, description],
  )
  await fill<ProductLine>(
    'products',
    'INSERT INTO products (id, name, description, price, category_id) VALUES (?, ?, ?, ?, ?)',
    ({ id, name, description, price, category_id }) => [id, name, description, price, category_id],
  )
  await fill<ReviewLine>(
    'reviews',
    'INSERT INTO reviews VALUES (?, ?, ?, ?, ?)',
    ({ id, product_id, user_id, rating, comment }) => [id, product_id, user_id, rating, comment],
  )
  database.run(INDEXES)
}
