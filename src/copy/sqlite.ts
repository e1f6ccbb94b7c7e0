import type { Parameter } from '../database/sqlite/connection.ts'
import type { SqliteDatabase, SqliteTransaction } from '../database/sqlite/database.ts'
import type { ColumnType, Table } from '../database/table.ts'
import { OperatorError } from '../program/operator-error.ts'
import { fieldsOf, lineOf, linesOf } from './line.ts'
import { NOT_EMPTY, type Source, type Store, type Target } from './store.ts'

/** Size of a chunk of lines; its last row may exceed it. */
const CHUNK_CHARACTERS = 262_144

/** Converts SQLite's values to the fields of a line, and back. */
const TEXT_OF: Readonly<Record<ColumnType, (value: string | number) => string>> = {
  integer: String,
  flag: String,
  number: String,
  text: String,
  time: milliseconds => new Date(milliseconds).toISOString(),
}

const VALUE_OF: Readonly<Record<ColumnType, (text: string) => string | number>> = {
  integer: Number,
  flag: Number,
  number: Number,
  text: String,
  time: Date.parse,
}

export function sqliteStore(database: SqliteDatabase, tables: readonly Table[]): Store {
  return {
    read: work => database.bulk('reading', transaction => work(sourceIn(transaction))),
    fill: work =>
      database.bulk('writing', transaction => {
        mustBeEmpty(transaction, tables)
        return work(targetIn(transaction, tables))
      }),
  }
}

function sourceIn(transaction: SqliteTransaction): Source {
  return {
    count: async ({ name }) =>
      transaction.prepare<[], { count: number }>(`SELECT count(*) AS count FROM ${name}`).get()?.count ?? 0,
    lines: table => lines(transaction, table),
    lastId: async ({ name }) =>
      transaction.prepare<[name: string], { seq: number }>('SELECT seq FROM sqlite_sequence WHERE name = ?').get(name)
        ?.seq ?? 0,
  }
}

function targetIn(transaction: SqliteTransaction, tables: readonly Table[]): Target {
  const indexes = dropIndexes(transaction, tables)
  return {
    ...sourceIn(transaction),
    store: async (table, chunks) => {
      const columns = Object.keys(table.columns)
      const insert = transaction.prepare<Parameter[]>(
        `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      )
      const types = Object.values(table.columns)
      for await (const lines of linesOf(chunks)) {
        for (const line of lines) {
          const fields = fieldsOf(line)
          insert.run(
            ...types.map((type, place) => {
              const text = fields[place] ?? null
              return text === null ? null : VALUE_OF[type](text)
            }),
          )
        }
      }
    },
    complete: async report => {
      for (const [place, sql] of indexes.entries()) {
        report(place, indexes.length)
        transaction.prepare(sql).run()
      }
      report(indexes.length, indexes.length)
    },
    continueAfter: async ({ name }, id) => {
      transaction.prepare<[name: string]>('DELETE FROM sqlite_sequence WHERE name = ?').run(name)
      transaction
        .prepare<[name: string, id: number]>('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)')
        .run(name, id)
    },
  }
}

async function* lines(transaction: SqliteTransaction, { name, key, columns }: Table): AsyncGenerator<Uint8Array> {
  const rows = transaction.prepare<[], Record<string, string | number | null>>(
    `SELECT ${Object.keys(columns).join(', ')} FROM ${name} ORDER BY ${key}`,
  )
  const written = Object.entries(columns).map(([column, type]) => [column, TEXT_OF[type]] as const)
  const encoder = new TextEncoder()
  let chunk = ''
  for (const row of rows.iterate()) {
    chunk += lineOf(
      written.map(([column, textOf]) => {
        const value = row[column] ?? null
        return value === null ? null : textOf(value)
      }),
    )
    if (chunk.length < CHUNK_CHARACTERS) continue
    yield encoder.encode(chunk)
    chunk = ''
  }
  yield encoder.encode(chunk)
}

/** Drops them, because creating them after the rows are stored takes a tenth of the time. Returns the SQL to recreate them. */
function dropIndexes(transaction: SqliteTransaction, tables: readonly Table[]): string[] {
  const indexes = transaction
    .prepare<[], { name: string; table: string; sql: string }>(
      'SELECT name, tbl_name AS "table", sql FROM sqlite_schema WHERE type = \'index\' AND sql IS NOT NULL',
    )
    .all()
    .filter(({ table }) => tables.some(({ name }) => name === table))
  for (const { name } of indexes) transaction.prepare(`DROP INDEX ${name}`).run()
  return indexes.map(({ sql }) => sql)
}

function mustBeEmpty(transaction: SqliteTransaction, tables: readonly Table[]): void {
  const anything = tables.map(({ name }) => `SELECT EXISTS (SELECT 1 FROM ${name}) AS filled`).join(' UNION ALL ')
  const found = transaction.prepare<[], { filled: number }>(`SELECT max(filled) AS filled FROM (${anything})`).get()
  if (found?.filled !== 0) throw new OperatorError(NOT_EMPTY)
}
