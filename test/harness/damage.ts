import { Database } from 'bun:sqlite'
import { closeSync, openSync, writeSync } from 'node:fs'

/** Writes garbage over the first page of a table of an SQLite file, or of the whole file for `sqlite_schema`. */
export function damage(file: string, table: string): void {
  using database = new Database(file)
  // Otherwise the page could be read from the log.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  const { size } = database.query<{ size: number }, []>('SELECT page_size AS size FROM pragma_page_size').get() ?? {
    size: 0,
  }
  const root = database
    .query<{ page: number }, [string]>('SELECT rootpage AS page FROM sqlite_schema WHERE name = ?')
    .get(table)
  database.close(true)
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, new Uint8Array(size).fill(0xa5), 0, size, ((root?.page ?? 1) - 1) * size)
  closeSync(descriptor)
}
