import type { PostgresDatabase } from '../database/postgres/database.ts'
import type { Query, RowStreams } from '../database/postgres/pool.ts'
import { OperatorError } from '../operator-error.ts'
import { fieldsOf, lineOf, linesOf } from './line.ts'
import { NOT_EMPTY, type Source, type Store, type Target } from './store.ts'
import { type Kind, TABLES, type Table } from './tables.ts'

/** How long a server that uses the tables is waited for; then it is told, rather than waited for without an end. */
const LOCK_WAIT_MS = 5_000

/** A column → what is read of it, where that is not the column itself. COPY takes all of them back as they are. */
const READ: Readonly<Record<Kind, (column: string) => string>> = {
  integer: column => column,
  flag: column => `${column}::int`,
  number: column => column,
  text: column => column,
  time: column => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

/** A growing answer's text goes on in rows of its own, which none but its end puts together. */
const ANSWER = `
  text || coalesce((
    SELECT string_agg(piece.text, '' ORDER BY piece.position) FROM answer_pieces AS piece
    WHERE piece.req_id = answers.req_id AND piece.position >= char_length(answers.text)
  ), '')`
const DIFFERENT: Readonly<Record<string, string>> = { 'answers.text': ANSWER }

/** What says of a prompt that its answer has begun is in its own row, too. */
const CLAIM_ANSWERED = 'UPDATE prompts SET is_claimed = true WHERE req_id IN (SELECT req_id FROM answers)'

const NAMES = TABLES.map(({ name }) => `'${name}'::regclass`).join(', ')
const LOCK = `LOCK TABLE ${TABLES.map(({ name }) => name).join(', ')} IN ACCESS EXCLUSIVE MODE`
const FILLED = `
  SELECT ${TABLES.map(({ name }) => `EXISTS (SELECT 1 FROM ${name})`).join(' OR ')} AS filled`
const INDEXES = `
  SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS sql
  FROM pg_index WHERE indrelid IN (${NAMES}) AND NOT indisunique ORDER BY indexrelid`
const FOREIGN_KEYS = `
  SELECT conrelid::regclass::text AS "table", quote_ident(conname) AS name, pg_get_constraintdef(oid) AS sql
  FROM pg_constraint WHERE conrelid IN (${NAMES}) AND contype = 'f' ORDER BY oid`

export function postgresStore(database: PostgresDatabase): Store {
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
        await query(LOCK)
        const [found] = await query<{ filled: boolean }>(FILLED)
        if (found?.filled !== false) throw new OperatorError(NOT_EMPTY)
        return work(await targetIn(query, rows))
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

async function targetIn(query: Query, rows: RowStreams): Promise<Target> {
  const makeAgain = await dropIndexesAndKeys(query)
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
      await query(CLAIM_ANSWERED)
      for (const [place, sql] of makeAgain.entries()) {
        done(place, makeAgain.length)
        await query(sql)
      }
      for (const { name } of TABLES) await query(`ANALYZE ${name}`)
      done(makeAgain.length, makeAgain.length)
    },
    continueAfter: async ({ name, key }, id) => {
      // Undone with the transaction, as setval() is not.
      await query(`ALTER TABLE ${name} ALTER COLUMN ${key} RESTART WITH ${id + 1}`)
    },
  }
}

async function* lines(rows: RowStreams, { name, key, columns }: Table): AsyncGenerator<Uint8Array> {
  const read = Object.entries(columns).map(([column, kind]) => DIFFERENT[`${name}.${column}`] ?? READ[kind](column))
  const order = columns[key] === 'text' ? `${key} COLLATE "C"` : key
  const chunks = rows.from(`COPY (SELECT ${read.join(', ')} FROM ${name} ORDER BY ${order}) TO STDOUT`)
  const numbers = Object.values(columns).map(kind => kind === 'number')
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
async function dropIndexesAndKeys(query: Query): Promise<string[]> {
  const indexes = await query<{ name: string; sql: string }>(INDEXES)
  const keys = await query<{ table: string; name: string; sql: string }>(FOREIGN_KEYS)
  for (const { table, name } of keys) await query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`)
  for (const { name } of indexes) await query(`DROP INDEX ${name}`)
  return [
    ...indexes.map(({ sql }) => sql),
    ...keys.map(({ table, name, sql }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${sql}`),
  ]
}
