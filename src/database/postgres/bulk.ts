import { linesOf } from '../../lines.ts'
import type { Row, RowBatches, Table, TableColumnType, TableWriter } from '../table.ts'
import { lineOf, rowOf } from './copy-text.ts'
import type { Query, RawConnection } from './pool.ts'

/** Lock timeout: if another program locks the tables for longer, the work fails instead of hanging. */
const LOCK_WAIT_MS = 5_000

export const LIMIT_WAIT = `SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`

/** The other side of the transaction may be slow. */
export const MAY_IDLE = 'SET LOCAL idle_in_transaction_session_timeout = 0'

/** Number of characters that are sent at once; the last row may exceed it. */
const CHARACTERS_AT_ONCE = 262_144

/** The SQL that reads a column for COPY, unless it is the column itself. */
const READ: Readonly<Partial<Record<TableColumnType, (column: string) => string>>> = {
  flag: column => `${column}::int`,
  time: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

/** The type that a column has in rows of JSON. */
const TYPE_IN_JSON: Readonly<Record<TableColumnType, string>> = {
  integer: 'bigint',
  flag: 'boolean',
  number: 'double precision',
  text: 'text',
  time: 'timestamptz',
}

/**
 * The statement that stores rows. COPY is faster, but while the server waits for its next rows, no time limit applies, even if
 * their sender has vanished. Each INSERT is sent as a whole.
 */
type Storing = 'COPY' | 'INSERT'

/** A table whose indexes are dropped while it is filled. */
type Refilled = Pick<Table, 'name' | 'postgresAfterCopy' | 'citusAfterCopy'>

/** Makes a transaction read a snapshot, which concurrent writes do not change. Call it first. */
export async function beginReading(query: Query): Promise<void> {
  await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  await query(LIMIT_WAIT)
  await query(MAY_IDLE)
}

/** Locks tables for everybody else. */
export async function lockTables(query: Query, tables: readonly Pick<Table, 'name'>[]): Promise<void> {
  await query(LIMIT_WAIT)
  await query(`LOCK TABLE ${tables.map(({ name }) => name).join(', ')} IN ACCESS EXCLUSIVE MODE`)
}

/** Reads and fills tables in a transaction. */
export class PostgresTables implements TableWriter {
  protected readonly query: Query
  readonly #connection: RawConnection
  readonly #storing: Storing
  /** Tables whose indexes were dropped, and the SQL to create these again. */
  protected readonly bare: Refilled[] = []
  readonly #dropped: string[] = []

  constructor(query: Query, connection: RawConnection, storing: Storing = 'COPY') {
    this.query = query
    this.#connection = connection
    this.#storing = storing
  }

  async areEmpty(tables: readonly Table[]): Promise<boolean> {
    const filled = tables.map(({ name }) => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ')
    const [found] = await this.query<{ filled: boolean }>(`SELECT ${filled} AS filled`)
    return found?.filled === false
  }

  async count({ name }: Table): Promise<number> {
    const [found] = await this.query<{ count: number }>(`SELECT count(*)::float8 AS count FROM ${name}`)
    return found?.count ?? 0
  }

  rows(table: Table): AsyncGenerator<readonly Row[]> {
    return this.rowsWhere('TRUE', table)
  }

  /** The rows that meet a condition, in the order of the key. */
  protected async *rowsWhere(
    condition: string,
    { name, key, columns, postgres }: Table,
  ): AsyncGenerator<readonly Row[]> {
    const read = Object.entries(columns).map(([column, type]) => postgres?.[column] ?? READ[type]?.(column) ?? column)
    const order = columns[key] === 'text' ? `${key} COLLATE "C"` : key
    const convert = Object.values(columns).map(converter)
    const sql = `COPY (SELECT ${read.join(', ')} FROM ${name} WHERE ${condition} ORDER BY ${order}) TO STDOUT`
    for await (const lines of linesOf(this.#connection.copyOut(sql))) yield lines.map(line => rowOf(line, convert))
  }

  async lastId(table: Table): Promise<number> {
    const [found] = await this.query<{ last: number }>(`
      SELECT greatest(last_value - CASE WHEN is_called THEN 0 ELSE 1 END, (SELECT max(${table.key}) FROM ${table.name}))::float8
        AS last
      FROM ${sequenceOf(table)}`)
    return found?.last ?? 0
  }

  async existing({ name, key }: Pick<Table, 'name' | 'key'>, ids: readonly number[]): Promise<ReadonlySet<number>> {
    const found = await this.query<{ id: number }>(
      `SELECT ${key}::float8 AS id FROM ${name} WHERE ${key} = ANY ($1::bigint[]) ORDER BY ${key} FOR KEY SHARE`,
      `{${ids}}`,
    )
    return new Set(found.map(({ id }) => id))
  }

  async nextIds(table: Table, count: number): Promise<number[]> {
    const drawn = await this.query<{ id: number }>(
      `SELECT nextval('${sequenceOf(table)}')::float8 AS id FROM generate_series(1, $1::int)`,
      count,
    )
    return drawn.map(({ id }) => id)
  }

  async continueIds(table: Table, id: number): Promise<void> {
    const [counter] = await this.query<{ next: number }>(
      `SELECT (last_value + CASE WHEN is_called THEN 1 ELSE 0 END)::float8 AS next FROM ${sequenceOf(table)}`,
    )
    if (id < (counter?.next ?? 0)) return
    // Unlike setval(), this is rolled back with the transaction. Unlike ALTER TABLE, it waits for no statement on the table:
    // a create that waits for our locks would hold it up forever.
    await this.query(`ALTER SEQUENCE ${sequenceOf(table)} RESTART WITH ${id + 1}`)
  }

  async insert(table: Table, batches: RowBatches): Promise<void> {
    if (this.#storing === 'COPY') return this.#copy(table, batches)
    for await (const rows of batches) if (rows.length > 0) await this.#insert(table, rows)
  }

  async #insert({ name, columns }: Table, rows: readonly Row[]): Promise<void> {
    const written = writingTimes(columns)
    const names = Object.keys(columns)
    const types = Object.entries(columns).map(([column, type]) => `${column} ${TYPE_IN_JSON[type]}`)
    const objects = rows.map(row => {
      const values = written(row)
      return Object.fromEntries(names.map((column, place) => [column, values[place]]))
    })
    await this.query(
      `INSERT INTO ${name} (${names}) SELECT ${names} FROM json_to_recordset($1::text::json) AS (${types.join(', ')})`,
      JSON.stringify(objects),
    )
  }

  async #copy({ name, columns }: Table, batches: RowBatches): Promise<void> {
    const written = writingTimes(columns)
    const writer = this.#connection.copyIn(`COPY ${name} (${Object.keys(columns).join(', ')}) FROM STDIN`).getWriter()
    const encoder = new TextEncoder()
    try {
      let text = ''
      for await (const rows of batches) {
        for (const row of rows) {
          text += lineOf(written(row))
          if (text.length < CHARACTERS_AT_ONCE) continue
          await writer.write(encoder.encode(text))
          text = ''
        }
      }
      await writer.write(encoder.encode(text))
      await writer.close()
    } catch (error) {
      await writer.abort().catch(() => {})
      throw error
    }
  }

  async dropIndexes(tables: readonly Refilled[]): Promise<void> {
    const relations = tables.map(({ name }) => `'${name}'::regclass`).join(', ')
    const indexes = await this.query<{ name: string; sql: string }>(`
      SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS sql
      FROM pg_index WHERE indrelid IN (${relations}) AND NOT indisunique ORDER BY indexrelid`)
    const keys = await this.query<{ table: string; name: string; sql: string }>(`
      SELECT conrelid::regclass::text AS "table", quote_ident(conname) AS name, pg_get_constraintdef(oid) AS sql
      FROM pg_constraint WHERE conrelid IN (${relations}) AND contype = 'f' ORDER BY oid`)
    for (const { table, name } of keys) await this.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
    for (const { name } of indexes) await this.query(`DROP INDEX ${name}`)
    this.bare.push(...tables)
    this.#dropped.push(
      ...indexes.map(({ sql }) => sql),
      ...keys.map(({ table, name, sql }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${sql}`),
    )
  }

  async complete(report: (done: number, total: number) => void): Promise<void> {
    for (const { postgresAfterCopy } of this.bare) if (postgresAfterCopy) await this.query(postgresAfterCopy)
    for (const [place, sql] of this.#dropped.entries()) {
      report(place, this.#dropped.length)
      await this.query(sql)
    }
    for (const { name } of this.bare) await this.query(`ANALYZE ${name}`)
    if (this.#dropped.length > 0) report(this.#dropped.length, this.#dropped.length)
  }
}

/** Makes the value of a column from its text; `null` if it is the text. */
function converter(type: TableColumnType): ((text: string) => number) | null {
  if (type === 'text') return null
  return type === 'time' ? Date.parse : Number
}

function sequenceOf({ name, key }: Table): string {
  return `${name}_${key}_seq`
}

/** Makes the function that gives a row its times as PostgreSQL reads them. */
function writingTimes(columns: Table['columns']): (row: Row) => Row {
  const isTime = Object.values(columns).map(type => type === 'time')
  if (!isTime.includes(true)) return row => row
  return row => row.map((value, place) => (value !== null && isTime[place] ? new Date(value).toISOString() : value))
}
