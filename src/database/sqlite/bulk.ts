import { setImmediate as turn } from 'node:timers/promises'
import type { Row, RowBatches, Table, TableWriter } from '../table.ts'
import type { Parameter, Prepared } from './connection.ts'
import type { SqliteTransaction } from './database.ts'

/** Number of rows that are read at once, unless they are long. */
const ROWS_READ_AT_ONCE = 1_000
const CHARACTERS_READ_AT_ONCE = 1_048_576

/** Number of rows per statement. More would not make a row faster. */
const ROWS_STORED_AT_ONCE = 100

/** Reads and fills tables in a transaction. */
export class SqliteTables implements TableWriter {
  readonly #transaction: SqliteTransaction
  /** By table and number of rows. */
  readonly #inserts = new Map<string, Prepared<Parameter[]>>()
  /** The SQL to create the dropped indexes again. */
  readonly #dropped: string[] = []

  constructor(transaction: SqliteTransaction) {
    this.#transaction = transaction
  }

  async areEmpty(tables: readonly Table[]): Promise<boolean> {
    return !tables.some(({ name }) => this.#transaction.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get())
  }

  async count({ name }: Table): Promise<number> {
    return this.#number(`SELECT count(*) AS number FROM ${name}`)
  }

  async *rows({ name, key, columns }: Table): AsyncGenerator<readonly Row[]> {
    const select = this.#transaction.prepare<[], Record<string, string | number | null>>(
      `SELECT ${Object.keys(columns).join(', ')} FROM ${name} ORDER BY ${key}`,
    )
    let rows: Row[] = []
    let characters = 0
    for (const row of select.iterate()) {
      const values = Object.values(row)
      rows.push(values)
      for (const value of values) if (typeof value === 'string') characters += value.length
      if (rows.length < ROWS_READ_AT_ONCE && characters < CHARACTERS_READ_AT_ONCE) continue
      yield rows
      rows = []
      characters = 0
      // Signals are only handled between turns of the event loop.
      await turn()
    }
    yield rows
  }

  async lastId({ name, key }: Table): Promise<number> {
    return this.#number(`
      SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '${name}'), 0), coalesce(max(${key}), 0)) AS number
      FROM ${name}`)
  }

  async existing({ name, key }: Pick<Table, 'name' | 'key'>, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const select = this.#transaction.prepare<[id: number]>(`SELECT 1 FROM ${name} WHERE ${key} = ?`)
    return new Set(ids.filter(id => select.get(id)))
  }

  async nextIds(table: Table, count: number): Promise<number[]> {
    const last = await this.lastId(table)
    return Array.from({ length: count }, (_, place) => last + 1 + place)
  }

  async continueIds(table: Table, id: number): Promise<void> {
    if (id <= (await this.lastId(table))) return
    this.#transaction.prepare<[name: string]>('DELETE FROM sqlite_sequence WHERE name = ?').run(table.name)
    this.#transaction
      .prepare<[name: string, id: number]>('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)')
      .run(table.name, id)
  }

  async insert(table: Table, batches: RowBatches): Promise<void> {
    for await (const rows of batches) {
      for (let start = 0; start < rows.length; start += ROWS_STORED_AT_ONCE) {
        const some = rows.slice(start, start + ROWS_STORED_AT_ONCE)
        this.#insertOf(table, some.length).run(...some.flat())
      }
    }
  }

  async dropIndexes(tables: readonly Table[]): Promise<void> {
    const select = this.#transaction.prepare<[table: string], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
    )
    for (const { name, sql } of tables.flatMap(table => select.all(table.name))) {
      this.#transaction.prepare(`DROP INDEX "${name.replaceAll('"', '""')}"`).run()
      this.#dropped.push(sql)
    }
  }

  async complete(report: (done: number, total: number) => void): Promise<void> {
    const total = this.#dropped.length
    for (const [place, sql] of this.#dropped.entries()) {
      report(place, total)
      this.#transaction.prepare(sql).run()
    }
    if (total > 0) report(total, total)
  }

  #number(sql: string): number {
    return this.#transaction.prepare<[], { number: number }>(sql).get()?.number ?? 0
  }

  #insertOf({ name, columns }: Table, rows: number): Prepared<Parameter[]> {
    return this.#inserts.getOrInsertComputed(`${name} ${rows}`, () => {
      const names = Object.keys(columns)
      const values = `(${names.map(() => '?').join(', ')})`
      return this.#transaction.prepare(
        `INSERT INTO ${name} (${names.join(', ')}) VALUES ${Array<string>(rows).fill(values).join(', ')}`,
      )
    })
  }
}
