import { setImmediate as turn } from 'node:timers/promises'
import type { Parameter, Prepared } from '../../../database/sqlite/connection.ts'
import type { SqliteDatabase, SqliteTransaction } from '../../../database/sqlite/database.ts'
import { isConstraint } from '../../../database/sqlite/failure.ts'
import type { AnswerSpace } from '../../storage/idempotency/space.ts'
import { sqliteKeys } from '../../storage/sqlite/keys.ts'
import { LoadedIds } from '../loaded-ids.ts'
import type { Loader, NewRow, Refusal, Stored, StoredRows } from '../loader.ts'
import { storeNewIds } from '../new-ids.ts'

/** Number of rows per statement. More would not make a row faster. */
const ROWS_AT_ONCE = 100

/** Ids of rows that others refer to, in some 40 MiB. */
const FOUND_MAX = 1_000_000

/**
 * The indexes of a table are dropped, and created again at the end, after this many new rows and this share of the existing
 * ones. Updating them takes 6 µs for each new row, creating them again 2 µs for each row of the table.
 */
const REBUILD_ROWS = 10_000
const REBUILD_SHARE = 0.4

export function sqliteLoader(database: SqliteDatabase, isServing: boolean, space: AnswerSpace): Loader {
  return {
    load: work =>
      database.bulk('loading', async transaction => {
        const tables = new Map<string, SqliteRows>()
        const loaded = new LoadedIds()
        const rowsOf = (resource: StoredRows): SqliteRows => {
          const rows = tables.get(resource.table) ?? new SqliteRows(transaction, resource)
          tables.set(resource.table, rows)
          return rows
        }
        const result = await work({
          isEmpty: async () => {
            const tables = ['categories', 'products', 'users']
            return !tables.some(table => transaction.prepare(`SELECT id FROM ${table} LIMIT 1`).get())
          },
          store: async (resource, rows) => {
            // Other work runs after each call.
            await turn()
            const stored = rowsOf(resource)
            const done =
              isServing && rows.some(({ id }) => id !== undefined)
                ? await storeNewIds(rows, stored.lastId(), numbered => stored.store(numbered, false))
                : stored.store(rows, !isServing)
            return loaded.add(resource, done)
          },
          complete: async report => {
            const dropped = [...tables.values()].flatMap(rows => rows.droppedIndexes)
            for (const [place, sql] of dropped.entries()) {
              report?.(place, dropped.length)
              transaction.prepare(sql).run()
            }
            if (dropped.length > 0) report?.(dropped.length, dropped.length)
          },
          keep: async (claim, answer) => {
            const keys = sqliteKeys(transaction, space)
            keys.mustBeFree(claim)
            keys.keep(claim, answer, null)
          },
        })
        transaction.log(loaded.changes)
        return result
      }),
  }
}

/** Stores rows of one table. */
class SqliteRows {
  /** The SQL to create the dropped indexes again. */
  readonly droppedIndexes: string[] = []
  readonly #transaction: SqliteTransaction
  readonly #table: string
  readonly #columns: readonly string[]
  readonly #insertMany: Prepared<Parameter[]>
  readonly #insertOne: Prepared<Parameter[]>
  readonly #selectId: Prepared<[id: Parameter], { id: number }>
  readonly #references: readonly { readonly column: string; readonly exists: (id: Parameter) => boolean }[]
  /** The highest id before the import. */
  readonly #last: number
  /** Number of further rows to store before the indexes are dropped. */
  #keepsIndexesFor: number

  constructor(transaction: SqliteTransaction, { table, columns, references }: StoredRows) {
    this.#transaction = transaction
    this.#table = table
    this.#columns = ['id', ...Object.keys(columns)]
    const values = `(${this.#columns.map(() => '?').join(', ')})`
    const insert = (rows: number) =>
      transaction.prepare<Parameter[]>(
        `INSERT INTO ${table} (${this.#columns.join(', ')}) VALUES ${Array<string>(rows).fill(values).join(', ')}`,
      )
    this.#insertMany = insert(ROWS_AT_ONCE)
    this.#insertOne = insert(1)
    const selectId = (from: string) =>
      transaction.prepare<[id: Parameter], { id: number }>(`SELECT id FROM ${from} WHERE id = ?`)
    this.#selectId = selectId(table)
    this.#references = references.map(({ column, table: owners }) => ({ column, exists: existence(selectId(owners)) }))
    this.#last = transaction.prepare<[], { id: number | null }>(`SELECT max(id) AS id FROM ${table}`).get()?.id ?? 0
    this.#keepsIndexesFor = Math.max(REBUILD_ROWS, this.#last * REBUILD_SHARE)
  }

  /** The highest id that any row has or had. */
  lastId(): number {
    const select = this.#transaction.prepare<[table: string], { seq: number }>(
      'SELECT seq FROM sqlite_sequence WHERE name = ?',
    )
    return select.get(this.#table)?.seq ?? 0
  }

  store(rows: readonly NewRow[], mayRebuild: boolean): Stored {
    this.#keepsIndexesFor -= rows.length
    if (mayRebuild && this.#keepsIndexesFor < 0 && this.droppedIndexes.length === 0) this.#dropIndexes()
    const ids: number[] = []
    const refused = new Map<number, Refusal>()
    const good: NewRow[] = []
    const places: number[] = []
    for (const [place, row] of rows.entries()) {
      const column = this.#absentReference(row)
      if (column !== null) {
        refused.set(place, { column, reason: 'absent' })
        continue
      }
      good.push(row)
      places.push(place)
    }
    for (let start = 0; start < good.length; start += ROWS_AT_ONCE) {
      const some = good.slice(start, start + ROWS_AT_ONCE)
      if (this.#storeTogether(some, ids)) continue
      for (const [place, row] of some.entries()) {
        const isTaken = row.id !== undefined && this.#selectId.get(row.id) !== null
        if (isTaken) refused.set(places[start + place] ?? 0, { column: 'id', reason: 'taken' })
        else ids.push(Number(this.#insertOne.run(...this.#valuesOf([row])).lastInsertRowid))
      }
    }
    return { ids, refused }
  }

  /** Returns false, and stores nothing, if any of them cannot be stored. */
  #storeTogether(rows: readonly NewRow[], ids: number[]): boolean {
    const given = rows.filter(({ id }) => id !== undefined).length
    if (rows.length < ROWS_AT_ONCE || (given > 0 && given < rows.length)) return false
    try {
      const last = Number(this.#insertMany.run(...this.#valuesOf(rows)).lastInsertRowid)
      for (const [place, { id }] of rows.entries()) ids.push(id ?? last - rows.length + 1 + place)
      return true
    } catch (error) {
      if (isConstraint(error)) return false
      throw error
    }
  }

  #valuesOf(rows: readonly NewRow[]): Parameter[] {
    const values: Parameter[] = []
    for (const row of rows) for (const column of this.#columns) values.push(row[column] ?? null)
    return values
  }

  #absentReference(row: NewRow): string | null {
    for (const { column, exists } of this.#references) {
      const id = row[column] ?? null
      if (id !== null && !exists(id)) return column
    }
    return null
  }

  #dropIndexes(): void {
    const indexes = this.#transaction
      .prepare<[table: string], { name: string; sql: string }>(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      )
      .all(this.#table)
    for (const { name, sql } of indexes) {
      this.#transaction.prepare(`DROP INDEX ${name}`).run()
      this.droppedIndexes.push(sql)
    }
  }
}

/** Remembers the rows that it has found. None of them goes before the transaction ends. */
function existence(select: Prepared<[id: Parameter], { id: number }>): (id: Parameter) => boolean {
  const found = new Set<Parameter>()
  return id => {
    if (found.has(id)) return true
    if (!select.get(id)) return false
    if (found.size >= FOUND_MAX) found.clear()
    found.add(id)
    return true
  }
}
