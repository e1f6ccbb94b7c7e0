import { LIMIT_WAIT, PostgresTables } from '../../../database/postgres/bulk.ts'
import { LOG_CHANGES } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import type { IndexSlices, NotedRange } from '../index/catching-up.ts'
import { factsOf, INDEX_FORM, type NotedRow, notedRows, valueColumns, valueFacts } from '../index/facts.ts'
import type { IndexDescription, TableName, Values } from '../resource.ts'
import { inputOf } from './creation.ts'
import { logsEveryTransaction } from './log.ts'
import { idArray } from './rows.ts'

/** Limits on a slice: how many rows it takes, and how many of their notes, as on SQLite. */
const SLICES = { few: { rows: 256, notes: 4_096 }, many: { rows: 1_024, notes: 16_384 } }

/** One process writes the index at a time, because another one might write what it has read before. The number is arbitrary. */
const INDEX_LOCK = 5_365_741
/**
 * For slices. The others do not wait in the server, where each would hold a connection. Another process may have taken the notes which
 * the same statement reads, because its snapshot is older than the lock. So their rows are read by a later one.
 */
const TRY_LOCK = `SELECT pg_try_advisory_xact_lock(${INDEX_LOCK}) AS is_ours`
/** For a rebuild, which comes next then. Between the slices of a service, it would hardly find the lock free. */
const WAIT_FOR_LOCK = `SELECT FROM pg_advisory_xact_lock(${INDEX_LOCK})`

/** A command rebuilds the whole index if there are at least this many notes, and at least this many for each row of the index. */
const REBUILD_NOTES = 1_000
const REBUILD_SHARE = 0.4

const NOTED =
  'SELECT (SELECT min(number) FROM index_notes)::float8 AS first, (SELECT max(number) FROM index_notes)::float8 AS last'

const FORGET = 'DELETE FROM index_notes WHERE number = ANY ($1::bigint[])'

const FORM = 'SELECT number::float8 AS number, is_built FROM index_form WHERE id = 1'

interface IndexForm {
  readonly number: number
  readonly is_built: boolean
}

/**
 * Brings the indexes of these resources up to date, in transactions. On Citus, `finishedNotes` tells the numbers of the first notes
 * whose rows can be read.
 */
export function postgresIndexSlices(
  database: PostgresDatabase,
  indexes: readonly IndexDescription[],
  finishedNotes: (most: number) => Promise<readonly number[]>,
): IndexSlices {
  const takers = new Map(indexes.flatMap(takersOf))
  const logNothing = async (ask: Query) => {
    // With parameters, it is sent together with the statement before.
    if (logsEveryTransaction(database)) await ask(LOG_CHANGES, '[]', 0)
  }
  return {
    noted: async () => {
      const [range] = await database.readPrimary<NotedRange | { first: null; last: null }>(NOTED)
      return range && range.first !== null ? range : null
    },
    isBuilt: async () => {
      const [known] = await database.readPrimary<IndexForm>(FORM)
      if (known?.number === INDEX_FORM) return known.is_built
      return database.transaction(async ask => {
        const [form] = await ask<IndexForm>(`${FORM} FOR UPDATE`)
        if (form?.number === INDEX_FORM) return form.is_built
        for (const { table } of indexes) await ask(noteRows(table))
        await ask('UPDATE index_form SET number = $1::bigint, is_built = FALSE WHERE id = 1', INDEX_FORM)
        await logNothing(ask)
        return false
      })
    },
    take: async count => {
      const { rows, notes: most } = SLICES[count]
      const finished = database.isDistributed ? await finishedNotes(rows) : null
      if (finished?.length === 0) return 'busy'
      return database.transaction(async ask => {
        const [notes] = await (finished
          ? ask<Notes>(notesWhere('number = ANY ($1::bigint[])', rows), idArray(finished))
          : ask<Notes>(notesWhere(`TRUE ORDER BY number LIMIT ${most}`, rows)))
        if (!notes?.is_ours) return 'busy'
        if (!notes.numbers || !notes.parts) return 'done'
        const ids: Readonly<Record<string, readonly number[]>> = JSON.parse(notes.parts)
        for (const [part, take] of takers) if (ids[part]) await take(ask, ids[part])
        // Otherwise each slice would clear the caches of all nodes.
        await Promise.all([ask(FORGET, `{${notes.numbers}}`), logNothing(ask)])
        return 'done'
      })
    },
    rebuild: async progress => {
      if (database.isDistributed || (await database.readPrimary(areMostNoted(indexes))).length === 0) return
      await database.bulk(async (ask, connection) => {
        await ask(LIMIT_WAIT)
        await ask(WAIT_FOR_LOCK)
        // Before the rows are read, so that the notes of later changes stay.
        await ask('DELETE FROM index_notes')
        const tables = new PostgresTables(ask, connection)
        await tables.dropIndexes(indexes.map(({ facts }) => ({ name: facts })))
        // After TRUNCATE, a search whose snapshot is older would find nothing.
        for (const { facts } of indexes) await ask(`DELETE FROM ${facts}`)
        await fill(ask, indexes, progress)
        await tables.complete(() => {})
        await logNothing(ask)
      })
      // Otherwise each search steps over all deleted notes until the server's own job has run, and facets read the rows.
      await database.alone(`VACUUM (SKIP_LOCKED) index_notes, ${indexes.map(({ facts }) => facts).join(', ')}`)
    },
    built: () =>
      database.transaction(async ask => {
        await ask('UPDATE index_form SET is_built = TRUE WHERE id = 1 AND number = $1::bigint', INDEX_FORM)
        // Otherwise the planner knows nothing of them until the server's own job has run. That job, or another command, may have
        // one locked.
        for (const { facts } of indexes) await ask(`ANALYZE (SKIP_LOCKED) ${facts}`)
        await logNothing(ask)
      }),
  }
}

/** SQL that returns a row if so many rows are noted that the index is to be rebuilt. */
function areMostNoted(indexes: readonly IndexDescription[]): string {
  const known = indexes.map(({ facts }) => `(SELECT count(*) FROM ${facts})`).join(' + ')
  // After a small import, the second condition is not reached, so no rows are counted.
  return `SELECT FROM index_notes HAVING count(*) >= ${REBUILD_NOTES} AND count(*) >= ${REBUILD_SHARE} * (${known})`
}

/** Fills an empty index with all rows. */
async function fill(ask: Query, indexes: readonly IndexDescription[], progress: (left: number) => void): Promise<void> {
  const counts = indexes.map(({ table }) => `(SELECT count(*) FROM ${table})`).join(' + ')
  const [all] = await ask<{ number: number }>(`SELECT (${counts})::float8 AS number`)
  let left = all?.number ?? 0
  for (const index of indexes) {
    const select = `SELECT ${notedRows(index, asNumber)} WHERE owner.id > $1::bigint ORDER BY owner.id LIMIT ${SLICES.many.rows}`
    const keep = keeping(index)
    // Another program may have chosen ids below 1.
    for (let last: number | undefined = Number.MIN_SAFE_INTEGER; last !== undefined; ) {
      if (left > 0) progress(left)
      const rows: NotedRow[] = await ask<NotedRow>(select, last)
      await keep(ask, rows)
      left -= rows.length
      // Not until none are left: an id above 2^53 is read as a number that may be less, and would come again and again.
      last = rows.length < SLICES.many.rows ? undefined : rows.at(-1)?.id
    }
  }
}

function asNumber(sql: string): string {
  return `${sql}::float8`
}

/** SQL that notes the rows of a table which meet a condition. */
export function noteRows(table: TableName, which = 'TRUE'): string {
  return `INSERT INTO index_notes (part, id) SELECT '${table}', id FROM ${table} WHERE ${which}`
}

interface Notes {
  /** Whether this process has the lock. */
  readonly is_ours: boolean
  readonly numbers: string | null
  /** A JSON object of the ids by part. */
  readonly parts: string | null
}

/**
 * SQL that locks the index and groups notes of the first rows by their parts. A row is taken as it is now, so all of its notes are
 * taken at once.
 */
function notesWhere(condition: string, rows: number): string {
  return `
    WITH lock AS MATERIALIZED (${TRY_LOCK}),
    notes AS (SELECT number, part, id FROM index_notes WHERE (SELECT is_ours FROM lock) AND ${condition}),
    of_rows AS (
      SELECT part, id, string_agg(number::text, ',') AS numbers FROM notes GROUP BY part, id ORDER BY min(number) LIMIT ${rows}
    )
    SELECT (SELECT is_ours FROM lock) AS is_ours, string_agg(numbers, ',') AS numbers, json_object_agg(part, ids)::text AS parts
    FROM (SELECT part, string_agg(numbers, ',') AS numbers, json_agg(id) AS ids FROM of_rows GROUP BY part) AS by_part`
}

type Take = (ask: Query, ids: readonly number[]) => Promise<void>

/** For each part of which notes tell, the function that takes rows into the index as they are now, or out of it. */
function takersOf(index: IndexDescription): [part: string, take: Take][] {
  const { table, facts, values } = index
  const select = `SELECT ${notedRows(index, asNumber)} WHERE owner.id = ANY ($1::bigint[])`
  const changing = valueColumns(index)
  const change = `
    UPDATE ${facts} AS known SET ${Object.keys(changing)
      .map(name => `${name} = input.${name}`)
      .join(', ')}
    FROM ${inputOf({ id: 'integer', ...changing }).input} WHERE known.id = input.id`
  const keep = keeping(index)
  const takeAll: Take = async (ask, ids) => {
    const rows = await ask<NotedRow>(select, idArray(ids))
    await keep(ask, rows)
    const found = new Set(rows.map(({ id }) => id))
    const gone = ids.filter(id => !found.has(id))
    if (gone.length > 0) await ask(`DELETE FROM ${facts} WHERE id = ANY ($1::bigint[])`, idArray(gone))
  }
  if (values === null) return [[table, takeAll]]
  const takeValues: Take = async (ask, ids) => {
    const rows = await ask<NotedRow>(select, idArray(ids))
    await ask(change, jsonOf(rows.map(row => valueFacts(index, row))))
  }
  return [
    [table, takeAll],
    [values, takeValues],
  ]
}

/** Makes the function that takes rows into the index as they are. */
function keeping(index: IndexDescription) {
  const types = { id: 'integer', sort_name: 'text', beginning: 'text', ...valueColumns(index), words: 'text' } as const
  const { names, input } = inputOf(types)
  const columns = names.split(', ')
  const kept = columns.map(name => (name === 'words' ? "array_to_tsvector(string_to_array(words, ' '))" : name))
  const changes = columns.slice(1).map(name => `${name} = excluded.${name}`)
  const keep = `
    INSERT INTO ${index.facts} (${names}) SELECT ${kept.join(', ')} FROM ${input}
    ON CONFLICT (id) DO UPDATE SET ${changes.join(', ')}`
  return async (ask: Query, rows: readonly NotedRow[]): Promise<void> => {
    const made = rows.map(row => factsOf(index, row))
    if (made.length > 0) await ask(keep, jsonOf(made.map(({ facts, words }) => ({ ...facts, words: words.join(' ') }))))
  }
}

/** Another program may have stored a price that JSON has no number for. PostgreSQL reads it as text, too. */
function jsonOf(rows: readonly Values[]): string {
  return JSON.stringify(rows, (_, value) => (Number.isFinite(value) || typeof value !== 'number' ? value : `${value}`))
}
