import type { PostgresDatabase } from '../database/postgres/database.ts'
import type { Query, RawConnection } from '../database/postgres/pool.ts'
import type { ColumnType, Table } from '../database/table.ts'
import { OperatorError } from '../program/operator-error.ts'
import { fieldsOf, lineOf, linesOf } from './line.ts'
import { NOT_EMPTY, type Source, type Store, type Target } from './store.ts'

/** Lock timeout: if a server uses the tables for longer, the copy fails instead of hanging. */
const LOCK_WAIT_MS = 5_000

/** The SQL that reads a column in the form of `ColumnType`. COPY accepts all these forms back. */
const READ: Readonly<Record<ColumnType, (column: string) => string>> = {
  integer: column => column,
  flag: column => `${column}::int`,
  number: column => column,
  text: column => column,
  time: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

/** Statements that concern all tables. */
function statementsFor(tables: readonly Table[]) {
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
  const { lock, filled } = statementsFor(tables)
  const limitWait = `SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`
  return {
    read: work =>
      database.bulk(async (query, connection) => {
        await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
        await query(limitWait)
        return work(sourceIn(query, connection))
      }),
    fill: work =>
      database.bulk(async (query, connection) => {
        await query(limitWait)
        await query(lock)
        const [found] = await query<{ filled: boolean }>(filled)
        if (found?.filled !== false) throw new OperatorError(NOT_EMPTY)
        return work(await targetIn(query, connection, tables))
      }),
  }
}

function sourceIn(query: Query, connection: RawConnection): Source {
  return {
    count: async ({ name }) => {
      const [found] = await query<{ count: number }>(`SELECT count(*)::float8 AS count FROM ${name}`)
      return found?.count ?? 0
    },
    lines: table => lines(connection, table),
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

async function targetIn(query: Query, connection: RawConnection, tables: readonly Table[]): Promise<Target> {
  const recreate = await dropIndexesAndKeys(query, tables)
  return {
    ...sourceIn(query, connection),
    store: async ({ name, columns }, lines) => {
      const writer = connection.copyIn(`COPY ${name} (${Object.keys(columns).join(', ')}) FROM STDIN`).getWriter()
      try {
        for await (const chunk of lines) await writer.write(chunk)
        await writer.close()
      } catch (error) {
        await writer.abort().catch(() => {})
        throw error
      }
    },
    complete: async report => {
      for (const { postgresAfterCopy } of tables) if (postgresAfterCopy !== undefined) await query(postgresAfterCopy)
      for (const [place, sql] of recreate.entries()) {
        report(place, recreate.length)
        await query(sql)
      }
      for (const { name } of tables) await query(`ANALYZE ${name}`)
      report(recreate.length, recreate.length)
    },
    continueAfter: async ({ name, key }, id) => {
      // Unlike setval(), this is rolled back with the transaction.
      await query(`ALTER TABLE ${name} ALTER COLUMN ${key} RESTART WITH ${id + 1}`)
    },
  }
}

async function* lines(connection: RawConnection, { name, key, columns, postgres }: Table): AsyncGenerator<Uint8Array> {
  const read = Object.entries(columns).map(([column, type]) => postgres?.[column] ?? READ[type](column))
  const order = columns[key] === 'text' ? `${key} COLLATE "C"` : key
  const chunks = connection.copyOut(`COPY (SELECT ${read.join(', ')} FROM ${name} ORDER BY ${order}) TO STDOUT`)
  const numbers = Object.values(columns).map(type => type === 'number')
  if (!numbers.includes(true)) {
    yield* chunks
    return
  }
  // PostgreSQL and JavaScript both print doubles exactly, but not always with the same digits.
  const encoder = new TextEncoder()
  for await (const lines of linesOf(chunks)) {
    const rewritten = lines.map(line =>
      lineOf(fieldsOf(line).map((field, place) => (numbers[place] && field !== null ? String(Number(field)) : field))),
    )
    yield encoder.encode(rewritten.join(''))
  }
}

/** Drops them, because creating them after the rows are stored takes an eighth of the time. Returns the SQL to recreate them. */
async function dropIndexesAndKeys(query: Query, tables: readonly Table[]): Promise<string[]> {
  const statements = statementsFor(tables)
  const indexes = await query<{ name: string; sql: string }>(statements.indexes)
  const keys = await query<{ table: string; name: string; sql: string }>(statements.foreignKeys)
  for (const { table, name } of keys) await query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  for (const { name } of indexes) await query(`DROP INDEX ${name}`)
  return [
    ...indexes.map(({ sql }) => sql),
    ...keys.map(({ table, name, sql }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${sql}`),
  ]
}
