import { LIMIT_WAIT, PostgresTables } from '../../../database/postgres/bulk.ts'
import { LOG_NO_CHANGES } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Parameter, Query } from '../../../database/postgres/pool.ts'
import type { IndexSlices, NotedRange } from '../index/catching-up.ts'
import { factsOf, INDEX_FORM, type NotedRow, notedParts, notedRows, valueColumns, valueFacts } from '../index/facts.ts'
import type { IndexReader, IndexReads } from '../index/lists.ts'
import { type Beginning, type MatchSyntax, matchOf, type Rank } from '../index/matching.ts'
import type { Cursor, ListQuery } from '../query.ts'
import { allOf, listSql } from '../query-sql.ts'
import type { IndexDescription, IndexedResource, TableName, Values } from '../resource.ts'
import type { IdPage } from '../store.ts'
import { inputOf } from './creation.ts'
import { logsEveryTransaction } from './log.ts'
import { idArray } from './rows.ts'
import { POSTGRES_PARAMETERS } from './table.ts'

/** Limits on a slice: how many rows it takes, and how many of their notes, as on SQLite. */
const SLICES = { few: { rows: 256, notes: 4_096 }, many: { rows: 1_024, notes: 16_384 } }

/** One process writes the index at a time, because another one might write what it has read before. The number is arbitrary. */
const INDEX_LOCK = 5_365_741
/** For slices. The others do not wait in the server, where each would hold a connection. */
const TRY_LOCK = `SELECT pg_try_advisory_xact_lock(${INDEX_LOCK}) AS is_ours`
/** For a rebuild, which comes next then. Between the slices of a service, it would hardly find the lock free. */
const WAIT_FOR_LOCK = `SELECT FROM pg_advisory_xact_lock(${INDEX_LOCK})`

/** A command rebuilds the whole index if there are at least this many notes, and at least this many for each row of the index. */
const REBUILD_NOTES = 1_000
const REBUILD_SHARE = 0.4

const NOTED =
  'SELECT (SELECT min(number) FROM index_notes)::float8 AS first, (SELECT max(number) FROM index_notes)::float8 AS last'

const FORM = 'SELECT number::float8 AS number, is_built FROM index_form WHERE id = 1'

interface IndexForm {
  readonly number: number
  readonly is_built: boolean
}

/**
 * PostgreSQL's planner takes every beginning of a word for one that half a percent of all rows have. For a rarer one, it may walk
 * through all rows in their order, in vain. So a search first looks through this many rows, which has a whole page for common words,
 * and otherwise finds all matches by the index of words before it orders them.
 */
const FIRST_ROWS = 1_000
/** If it passes over items or counts them, it first looks through so many rows for each of them, up to a limit. */
const ROWS_FOR_EACH = 4
const FIRST_ROWS_MAX = 50_000
/**
 * If the first rows have a part of the page, they tell how many rows should have all of it. The search looks through half as many
 * again as that, but through no more than eight times the first rows: from there on, it is faster to find all matches, although a
 * match in the index of words costs as much as three rows here.
 */
const FURTHER_SHARE = 1.5
const FURTHER_TIMES_MAX = 8

/**
 * A search for one word alone looks through no more rows than this. Beyond it, reading all ids of the word in its index is faster,
 * with only those rows that the page probably has: up to an id so many times as far as the first matches suggest.
 */
const WALK_MAX = 3_000
const ROOM = 6

/** The query language of `tsquery`. Quoted terms are taken as they are. */
const TSQUERY: MatchSyntax = {
  term: (text, isPrefix) => `'${text}'${isPrefix ? ':*' : ''}`,
  and: ' & ',
  or: ' | ',
  andNot: ' & !',
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
    if (logsEveryTransaction(database)) await ask(LOG_NO_CHANGES)
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
        const [lock] = await ask<{ is_ours: boolean }>(TRY_LOCK)
        if (!lock?.is_ours) return 'busy'
        const [notes] = await (finished
          ? ask<Notes>(notesWhere('number = ANY ($1::bigint[])', rows), idArray(finished))
          : ask<Notes>(notesWhere(`TRUE ORDER BY number LIMIT ${most}`, rows)))
        if (!notes?.numbers || !notes.parts) return 'taken'
        const ids: Readonly<Record<string, readonly number[]>> = JSON.parse(notes.parts)
        for (const [part, take] of takers) if (ids[part]) await take(ask, ids[part])
        await ask('DELETE FROM index_notes WHERE number = ANY ($1::bigint[])', `{${notes.numbers}}`)
        // Otherwise each slice would clear the caches of all nodes.
        await logNothing(ask)
        return 'taken'
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
        // Otherwise the planner knows nothing of them until the server's own job has run.
        for (const { facts } of indexes) await ask(`ANALYZE ${facts}`)
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
  readonly numbers: string | null
  /** A JSON object of the ids by part. */
  readonly parts: string | null
}

/** SQL that groups notes of the first rows by their parts. A row is taken as it is now, so all of its notes are taken at once. */
function notesWhere(condition: string, rows: number): string {
  return `
    WITH notes AS (SELECT number, part, id FROM index_notes WHERE ${condition}),
    of_rows AS (
      SELECT part, id, string_agg(number::text, ',') AS numbers FROM notes GROUP BY part, id ORDER BY min(number) LIMIT ${rows}
    )
    SELECT string_agg(numbers, ',') AS numbers, json_object_agg(part, ids)::text AS parts
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

/** Reads the index of a resource on the primary. */
export function postgresIndexReads<Row extends Values>(
  database: PostgresDatabase,
  resource: IndexedResource<Row>,
): IndexReader<Row> {
  const { facts } = resource.index
  const noted = `SELECT id FROM index_notes WHERE part IN (${notedParts(resource.index)})`
  const knownRevision = `(SELECT revision FROM ${resource.table} WHERE id = owner.id AND id NOT IN (${noted}))`
  type Selection = ReturnType<typeof indexSelection<Row>>

  /** The rows among which are the matches, and how many of them to look through. */
  const rowsOf = (selected: Selection, most: number | null) => {
    const { from, where, indexed, hasWords, orderBy, columns, parameter } = selected
    if (!hasWords) return { before: '', from }
    if (most !== null) {
      const first = `SELECT * FROM ${facts} AS owner WHERE ${indexed} ORDER BY ${orderBy} LIMIT ${parameter(most)}::bigint`
      return { before: '', from: `(${first}) AS owner WHERE ${where}` }
    }
    return { before: `WITH owner AS MATERIALIZED (SELECT ${columns} FROM ${from}) `, from: 'owner WHERE TRUE' }
  }
  const page = async (ask: Query, query: ListQuery<Row>, rank: Rank | null, most: number | null): Promise<IdPage> => {
    const selected = indexSelection(resource, query, rank)
    const { orderBy, columns, parameters, parameter } = selected
    const { before, from } = rowsOf(selected, most)
    const rows = `SELECT ${columns} FROM ${from} ORDER BY ${orderBy} LIMIT ${parameter(query.limit + 1)}::bigint OFFSET ${parameter(query.from.skip)}::bigint`
    // Citus has the rows on other servers than the index.
    const revision = database.isDistributed ? 'NULL::bigint' : knownRevision
    const [found] = await ask<{ places: string | null; revisions: string | null; state: string | null }>(
      `${before}SELECT json_agg(json_build_array(${columns}) ORDER BY ${orderBy})::text AS places,
        json_agg(${revision} ORDER BY ${orderBy})::text AS revisions, ${database.changes.state} AS state
      FROM (${rows}) AS owner`,
      ...parameters,
    )
    database.changes.observe(found?.state ?? null)
    const places: Cursor[] = found?.places ? JSON.parse(found.places) : []
    const revisions: (number | null)[] = found?.revisions ? JSON.parse(found.revisions) : []
    const shown = places.slice(0, query.limit)
    return {
      ids: shown.map(place => Number(place.at(-1))),
      last: shown.at(-1) ?? null,
      more: places.length > query.limit,
      revisions: database.isDistributed ? null : revisions.slice(0, query.limit),
    }
  }
  const count = async (ask: Query, query: ListQuery<Row>, rank: Rank | null, most: number, rows: number | null) => {
    const selected = indexSelection(resource, query, rank)
    const { parameters, parameter } = selected
    const { before, from } = rowsOf(selected, rows)
    const [row] = await ask<{ number: number; state: string | null }>(
      `${before}SELECT count(*)::float8 AS number, ${database.changes.state} AS state
      FROM (SELECT FROM ${from} LIMIT ${parameter(most)}::bigint) AS counted`,
      ...parameters,
    )
    database.changes.observe(row?.state ?? null)
    return row?.number ?? 0
  }
  const readsBy = (ask: Query): IndexReads<Row> => ({
    page: async (query, rank) => {
      const rows = firstRows(query, query.from.skip)
      if (rows === null) return page(ask, query, rank, null)
      const first = await page(ask, query, rank, rows)
      if (first.more) return first
      const further = furtherRows(query, rows, first.ids.length)
      const until = further === null || further > WALK_MAX ? lastPlace(query, first.ids) : null
      let second: IdPage | null = null
      if (until) second = await page(ask, { ...query, until }, rank, null)
      else if (further) second = await page(ask, query, rank, further)
      return second?.more ? second : page(ask, query, rank, null)
    },
    count: async (query, rank, most) => {
      const rows = firstRows(query, most)
      const first = rows === null ? null : await count(ask, query, rank, most, rows)
      return first === most ? first : count(ask, query, rank, most, null)
    },
  })
  return {
    ...readsBy((sql, ...parameters) => database.readPlanned(ask => ask(sql, ...parameters))),
    together: work => database.readPlanned(ask => work(readsBy(ask))),
  }
}

/** The parts of a statement, and the parameters in them. */
export function indexSelection<Row extends Values>(
  resource: IndexedResource<Row>,
  query: ListQuery<Row>,
  rank: Rank | null,
) {
  const { facts, copied } = resource.index
  const { search, where: filters } = query
  const list = listSql(resource, query, POSTGRES_PARAMETERS)
  const { orderBy, parameters } = list
  // Of the columns that filters compare, only the copied ones have an index. By another one, the server would read all rows to find a few.
  const indexed = list.conditions.filter((_, at) => filters[at] === undefined || filters[at].column in copied)
  const conditions = [...list.conditions]
  const parameter = (value: Parameter) => `$${parameters.push(value)}`
  const match = search && matchOf(search, rank, TSQUERY)
  if (match) conditions.push(`owner.words @@ ${parameter(match.words)}::text::tsquery`)
  if (match?.beginning) conditions.push(beginningSql(match.beginning, parameter))
  const columns = [...query.order.by, 'id'].map(column => `owner.${column}`).join(', ')
  return {
    from: `${facts} AS owner WHERE ${allOf(conditions)}`,
    where: allOf(conditions),
    indexed: allOf(indexed),
    hasWords: match !== null,
    orderBy,
    columns,
    parameters,
    parameter,
  }
}

/** How many rows a search first looks through for a page after so many items, or to count so many; `null` if for all at once. */
function firstRows<Row extends Values>({ search }: ListQuery<Row>, items: number): number | null {
  if (search === null || items > FIRST_ROWS_MAX) return null
  return Math.min(Math.max(FIRST_ROWS, ROWS_FOR_EACH * items), FIRST_ROWS_MAX)
}

/**
 * An id by which the page of a search for one word should be full if later matches are about as frequent as the first ones; `null` if
 * there are too few of these to tell. It is for one word only, because the server would have to read all ids of every word.
 */
function lastPlace<Row extends Values>(
  { search, where, order, until, limit }: ListQuery<Row>,
  [first, ...others]: readonly number[],
): Cursor | null {
  const last = others.at(-1)
  const isOneWord = search?.units.flat(2).length === 1
  if (!isOneWord || where.length > 0 || until || order.by.length > 0 || order.isDescending) return null
  if (first === undefined || last === undefined) return null
  const place = first + (ROOM * (limit + 1) * (last - first)) / others.length
  return [Math.min(Math.ceil(place), Number.MAX_SAFE_INTEGER)]
}

/** How many rows a search looks through next if the first had so many items of the page; `null` if it is to find all matches. */
function furtherRows<Row extends Values>({ from, limit }: ListQuery<Row>, rows: number, items: number): number | null {
  const times = (FURTHER_SHARE * (from.skip + limit + 1)) / (from.skip + items)
  if (items === 0 || times > FURTHER_TIMES_MAX || rows === FIRST_ROWS_MAX) return null
  return Math.min(Math.ceil(times * rows), FIRST_ROWS_MAX)
}

/** A condition on how a name begins. */
function beginningSql({ text, isOpen, isWanted }: Beginning, parameter: (value: Parameter) => string): string {
  const begins = `starts_with(owner.beginning${isOpen ? '' : " || ' '"}, ${parameter(text)}::text)`
  return isWanted ? begins : `NOT ${begins}`
}
