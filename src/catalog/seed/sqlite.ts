import type { Parameter } from '../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { ANYTHING, type CatalogLoader } from './loader.ts'

/** Number of rows between two progress reports. */
const REPORT_ROWS = 10_000

export function sqliteLoader(database: SqliteDatabase): CatalogLoader {
  return {
    load: work =>
      database.bulk('writing', async transaction => {
        if (transaction.prepare(ANYTHING).get() !== null) return false
        await work(async ({ table, columns }, rows, inserted) => {
          const names = Object.keys(columns)
          const insert = transaction.prepare<Parameter[]>(
            `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
          )
          const ids: number[] = []
          for (const row of rows) {
            ids.push(Number(insert.run(...names.map(name => row[name] ?? null)).lastInsertRowid))
            if (ids.length % REPORT_ROWS === 0) inserted(ids.length)
          }
          return ids
        })
        return true
      }),
  }
}
