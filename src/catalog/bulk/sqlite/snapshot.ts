import { setImmediate as turn } from 'node:timers/promises'
import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import type { Row, Snapshot } from '../snapshot.ts'

/** Number of rows read at once, unless they are long. */
const ROWS_AT_ONCE = 1_000
const CHARACTERS_AT_ONCE = 1_048_576

export function sqliteSnapshot<Result>(
  database: SqliteDatabase,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  return database.bulk('reading', transaction =>
    work({
      count: async ({ table }) =>
        transaction.prepare<[], { count: number }>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? 0,
      async *rows({ table, columns }) {
        const select = transaction.prepare<[], Row>(
          `SELECT id, ${Object.keys(columns).join(', ')} FROM ${table} ORDER BY id`,
        )
        let rows: Row[] = []
        let characters = 0
        for (const row of select.iterate()) {
          rows.push(row)
          for (const column in row) characters += String(row[column]).length
          if (rows.length < ROWS_AT_ONCE && characters < CHARACTERS_AT_ONCE) continue
          yield rows
          rows = []
          characters = 0
          // Signals are only handled between turns of the event loop.
          await turn()
        }
        yield rows
      },
    }),
  )
}
