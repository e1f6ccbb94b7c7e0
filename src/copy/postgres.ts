import type { PostgresDatabase } from '../database/postgres/database.ts'
import type { Query, RowStreams } from '../database/postgres/pool.ts'
import type { ColumnType, Table } from '../database/table.ts'
import { OperatorError } from '../operator-error.ts'
import { fieldsOf, lineOf, linesOf } from './line.ts'
import { NOT_EMPTY, type Source, type Store, type Target } from './store.ts'

/** How long a server that uses the tables is waited for; then it is told, rather than waited for without an end. */
const LOCK_WAIT_MS = 5_000

/** A column → what is read of it, where that is not the column itself. COPY takes all of them back as they are. */
const READ: Readonly<Record<ColumnType, (column: string) => string>> = {
  integer: column => column,
  flag: column => `${column}::int`,
  number: column => column,
  text: column => column,
  time: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

/** The statements that are about all tables. */
function statementsAbout(tables: readonly Table[]) {
  const names = tables.map(({ name }) => name)
  const relations = names.map(name => `'${name}'::regclass`).join(', ')
  return {
    lock: `LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`,
    filled: `SELECT ${names.map(name => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ')} AS filled`,
    indexes: `
      SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS sql
      FROM pg_index WHERE indrelid IN (${relations}) AND NOT indisunique ORDER BY indexrelid`,
    foreignKeys: `
      SELECT conrelid::regclass::text AS "table", quote_ident(conname) AS name, pg_get_constraintdef(oid) AS sql
      FROM pg_constraint WHERE conrelid IN (${relations}) AND contype = 'f' ORDER BY oid`,
  }
}

export function postgresStore(database: PostgresDatabase, tables: readonly Table[]): Store {
  const { lock, filled } = statementsAbout(tables)
  const limitWait = `SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`
  return {
    read: work =>
      database.bulk(async (query, rows) => {
        await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
        await query(limitWait)
        return work(sourceIn(query, rows))
      }),
    fill: work =>
      database.bulk(async (query, rows) => {
        await query(limitWait)
        await query(lock)
        const [found] = await query<{ filled: boolean }>(filled)
        if (found?.filled !== false) throw new OperatorError(NOT_EMPTY)
        return work(await targetIn(query, rows, tables))
      }),
  }
}

function sourceIn(query: Query, rows: RowStreams): Source {
  return {
    count: async ({ name }) => {
      const [found] = await query<{ count: number }>(`SELECT count(*)::float8 AS count FROM ${name}`)
      return found?.count ?? 0
    },
    lines: table => lines(rows, table),
    lastId: async ({ name, key }) => {
      const [counter] = await query<{ name: string }>(
        'SELECT pg_get_serial_sequence($1::text, $2::text) AS name',
        name,
        key,
      )
      const [found] = await query<{ last: number }>(
        `SELECT (last_value - CASE WHEN is_called THEN 0 ELSE 1 END)::float8 AS last FROM ${counter?.name}`,
      )
      return found?.last ?? 0
    },
  }
}

async function targetIn(query: Query, rows: RowStreams, tables: readonly Table[]): Promise<Target> {
  const makeAgain = await dropIndexesAndKeys(query, tables)
  return {
    ...sourceIn(query, rows),
    store: async ({ name, columns }, lines) => {
      const into = rows.into(`COPY ${name} (${Object.keys(columns).join(', ')}) FROM STDIN`).getWriter()
      try {
        for await (const chunk of lines) await into.write(chunk)
        await into.close()
      } catch (error) {
        await into.abort().catch(() => {})
        throw error
      }
    },
    complete: async done => {
      for (const { postgresAfterCopy } of tables) if (postgresAfterCopy !== undefined) await query(postgresAfterCopy)
      for (const [place, sql] of makeAgain.entries()) {
        done(place, makeAgain.length)
        await query(sql)
      }
      for (const { name } of tables) await query(`ANALYZE ${name}`)
      done(makeAgain.length, makeAgain.length)
    },
    continueAfter: async ({ name, key }, id) => {
      // Undone with the transaction, as setval() is not.
      await query(`ALTER TABLE ${name} ALTER COLUMN ${key} RESTART WITH ${id + 1}`)
    },
  }
}

async function* lines(rows: RowStreams, { name, key, columns, postgres }: Table): AsyncGenerator<Uint8Array> {
  const read = Object.entries(columns).map(([column, type]) => postgres?.[column] ?? READ[type](column))
  const order = columns[key] === 'text' ? `${key} COLLATE "C"` : key
  const chunks = rows.from(`COPY (SELECT ${read.join(', ')} FROM ${name} ORDER BY ${order}) TO STDOUT`)
  const numbers = Object.values(columns).map(type => type === 'number')
  if (!numbers.includes(true)) {
    yield* chunks
    return
  }
  // Both write a double exactly, but not always with the same digits.
  const encoder = new TextEncoder()
  for await (const lines of linesOf(chunks)) {
    const rewritten = lines.map(line =>
      lineOf(fieldsOf(line).map((field, place) => (numbers[place] && field !== null ? String(Number(field)) : field))),
    )
    yield encoder.encode(rewritten.join(''))
  }
}

/** To be made again when the rows are there: that takes an eighth of the time. Answers how. */
async function dropIndexesAndKeys(query: Query, tables: readonly Table[]): Promise<string[]> {
  const statements = statementsAbout(tables)
  const indexes = await query<{ name: string; sql: string }>(statements.indexes)
  const keys = await query<{ table: string; name: string; sql: string }>(statements.foreignKeys)
  for (const { table, name } of keys) await query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  for (const { name } of indexes) await query(`DROP INDEX ${name}`)
  return [
    ...indexes.map(({ sql }) => sql),
    ...keys.map(({ table, name, sql }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${sql}`),
  ]
}
