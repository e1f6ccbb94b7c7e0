import type { Parameter, Prepared } from '../../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import type { ReadAll } from '../../../database/sqlite/reading-thread.ts'
import type { IndexSlices, NotedRange } from '../index/catching-up.ts'
import { factsOf, INDEX_FORM, type NotedRow, notedParts, notedRows, valueColumns, valueFacts } from '../index/facts.ts'
import type { IndexReader, IndexReads } from '../index/lists.ts'
import { type Beginning, type MatchSyntax, matchOf, type Rank } from '../index/matching.ts'
import type { ListQuery } from '../query.ts'
import { listSql } from '../query-sql.ts'
import type { IndexDescription, IndexedResource, Values } from '../resource.ts'
import { countBeside, pageBeside, SQLITE_PARAMETERS } from './lists.ts'

/**
 * Limits on a slice: for how long it holds the write lock, how many rows it takes, and how many of their notes, since a row may
 * have thousands, such as a product with as many new reviews. A service takes few, because it does nothing else meanwhile;
 * a command takes many, because each commit of FTS5 costs as much as a hundred rows.
 */
const SLICES = { few: { ms: 5, rows: 64, notes: 1_024 }, many: { ms: 100, rows: 4_096, notes: 16_384 } }

/** The query language of FTS5. Its tokenizer takes everything but ASCII's punctuation and blanks as part of a word. */
const FTS5: MatchSyntax = {
  term: (text, isPrefix) => `"${text}"${isPrefix ? '*' : ''}`,
  and: ' AND ',
  or: ' OR ',
  andNot: ' NOT ',
}

/**
 * A prefix that is too long for the index of prefixes, which has four characters: see the migration. FTS5 reads all items of all its
 * words before it returns the first, 75 ms for a word that a fifth of a million products have.
 */
const LONG_PREFIX = /"([^"]{5,})"\*/gu

/** In place of such a prefix, FTS5 is asked for each of its words, whose items it reads one by one, if there are at most so many. */
const WORDS_MAX = 64

interface Note {
  readonly number: number
  readonly part: string
  readonly id: number
}

/** The notes of a row. It is taken as it is now, so all of them are taken at once. */
interface NotedPart extends Pick<Note, 'part' | 'id'> {
  readonly numbers: number[]
}

/** Brings the indexes of these resources up to date, within writes. */
export function sqliteIndexSlices(database: SqliteDatabase, indexes: readonly IndexDescription[]): IndexSlices {
  const range = database.prepare<[], { first: number | null; last: number | null }>(
    'SELECT (SELECT min(number) FROM index_notes) AS first, (SELECT max(number) FROM index_notes) AS last',
  )
  const form = database.prepare<[], { number: number; is_built: number }>(
    'SELECT number, is_built FROM index_form WHERE id = 1',
  )
  const setForm = database.prepare<[number: number, isBuilt: number]>(
    'UPDATE index_form SET number = ?, is_built = ? WHERE id = 1',
  )
  const notes = database.prepare<[count: number], Note>(
    `SELECT number, part, id FROM index_notes WHERE number > 0 ORDER BY number LIMIT ?`,
  )
  const forget = database.prepare<[numbers: string]>(
    'DELETE FROM index_notes WHERE number IN (SELECT value FROM json_each(?))',
  )
  const takers = new Map(indexes.flatMap(index => takersOf(database, index)))
  /** Added to the numbers, because SQLite begins with 1 again after all notes were taken, and no search has to wait for later ones. */
  let numbersBefore = 0
  let lastSeen = 0
  const look = (): NotedRange | null => {
    const { first = null, last = null } = range.get() ?? {}
    if (first === null || last === null) {
      numbersBefore += lastSeen
      lastSeen = 0
      return null
    }
    lastSeen = Math.max(lastSeen, last)
    return { first: first + numbersBefore, last: last + numbersBefore }
  }
  return {
    noted: () => database.snapshot(look, 'look'),
    isBuilt: async () => {
      const known = database.snapshot(() => form.get(), 'look')
      if (known?.number === INDEX_FORM) return known.is_built === 1
      await database.write(() => {
        // Another process may have noted them meanwhile.
        if (form.get()?.number === INDEX_FORM) return
        for (const { table } of indexes) {
          database.prepare(`INSERT INTO index_notes (part, id) SELECT '${table}', id FROM ${table}`).run()
        }
        setForm.run(INDEX_FORM, 0)
      })
      return false
    },
    take: count => {
      const seen = { numbersBefore, lastSeen }
      return database.write(() => {
        // With others that fail, this is rolled back and runs again, and may take fewer notes then.
        ;({ numbersBefore, lastSeen } = seen)
        const began = performance.now()
        const taken: number[] = []
        for (const { part, id, numbers } of notesOfRows(notes.iterate(SLICES[count].notes), SLICES[count].rows)) {
          takers.get(part)?.(id)
          for (const number of numbers) taken.push(number)
          if (performance.now() - began > SLICES[count].ms) break
        }
        forget.run(JSON.stringify(taken))
        // Before the writes that follow in this transaction.
        look()
        return 'taken'
      })
    },
    // In one transaction, this would save a third of the time, but nobody else could write meanwhile.
    rebuild: async () => {},
    built: () => database.write(() => void setForm.run(INDEX_FORM, 1)),
  }
}

/** Groups the first notes by their rows, in the order of ids: FTS5 writes what it has so far whenever they do not ascend. */
function notesOfRows(notes: Iterable<Note>, most: number): readonly NotedPart[] {
  const ofRows = new Map<string, NotedPart>()
  for (const { number, part, id } of notes) {
    const row = `${part} ${id}`
    const known = ofRows.get(row)
    if (!known && ofRows.size === most) break
    if (known) known.numbers.push(number)
    else ofRows.set(row, { part, id, numbers: [number] })
  }
  return [...ofRows.values()].sort((one, other) => one.id - other.id)
}

/** For each part of which notes tell, the function that takes a row into the index as it is now, or out of it. */
function takersOf(database: SqliteDatabase, index: IndexDescription): [part: string, take: (id: number) => void][] {
  const { table, facts, words, values } = index
  const select = database.prepare<[id: number], NotedRow>(`SELECT ${notedRows(index)} WHERE owner.id = ?`)
  const columns = ['id', 'sort_name', 'beginning', ...Object.keys(valueColumns(index))]
  const change = changerOf(database, index, columns)
  const insert = database.prepare<Parameter[]>(
    `INSERT INTO ${facts} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const keepWords = database.prepare<[id: number, words: string]>(
    `INSERT OR REPLACE INTO ${words} (rowid, words) VALUES (?, ?)`,
  )
  const forget = database.prepare<[id: number]>(`DELETE FROM ${facts} WHERE id = ?`)
  const forgetWords = database.prepare<[id: number]>(`DELETE FROM ${words} WHERE rowid = ?`)
  const takeAll = (id: number) => {
    const row = select.get(id)
    if (row) {
      const made = factsOf(index, row)
      if (!change(id, made.facts)) insert.run(...columns.map(name => made.facts[name] ?? null))
      keepWords.run(id, made.words.join(' '))
    } else {
      forget.run(id)
      forgetWords.run(id)
    }
  }
  if (values === null) return [[table, takeAll]]
  const takeValues = (id: number) => {
    const row = select.get(id)
    // If the index has no facts yet, there is a note of the whole row, too.
    if (row) change(id, valueFacts(index, row))
  }
  return [
    [table, takeAll],
    [values, takeValues],
  ]
}

/**
 * Makes the function that changes the facts of a row, and returns whether there are any. It writes only what differs, because
 * each column has an index, whose pages are far apart.
 */
function changerOf(database: SqliteDatabase, { facts }: IndexDescription, columns: readonly string[]) {
  const select = database.prepare<[id: number], Values>(`SELECT ${columns.join(', ')} FROM ${facts} WHERE id = ?`)
  const updates = new Map<string, Prepared<Parameter[]>>()
  return (id: number, made: Values): boolean => {
    const before = select.get(id)
    if (!before) return false
    const changed = Object.keys(made).filter(name => made[name] !== before[name])
    if (changed.length === 0) return true
    const assignments = changed.map(name => `${name} = ?`).join(', ')
    const update = updates.get(assignments) ?? database.prepare(`UPDATE ${facts} SET ${assignments} WHERE id = ?`)
    updates.set(assignments, update)
    update.run(...changed.map(name => made[name] ?? null), id)
    return true
  }
}

/** Reads the index of a resource in the thread for long reads. */
export function sqliteIndexReads<Row extends Values>(
  database: SqliteDatabase,
  resource: IndexedResource<Row>,
): IndexReader<Row> {
  const { index } = resource
  // A row with a note is in the index as it was before.
  const isKnown = ` AND id NOT IN (SELECT id FROM index_notes WHERE part IN (${notedParts(index)}))`
  const readsBy = (all: ReadAll): IndexReads<Row> => ({
    page: (query, rank) => pageBeside(all, resource, query, { ...indexSelection(resource, query, rank), isKnown }),
    count: (query, rank, most) => {
      const { sql, parameters, ofWordsAlone } = indexSelection(resource, query, rank)
      return countBeside(all, { sql: ofWordsAlone ?? sql, parameters }, most)
    },
  })
  return {
    ...readsBy((sql, parameters) => database.beside.all(sql, parameters)),
    together: work => database.beside.together(all => work(readsBy(all))),
  }
}

export function indexSelection<Row extends Values>(
  resource: IndexedResource<Row>,
  query: ListQuery<Row>,
  rank: Rank | null,
) {
  const { facts, words } = resource.index
  const match = query.search && matchOf(query.search, rank, FTS5)
  // The words are read in the order of ids, so a page of this order reads no more of them than it has to pass over.
  const id = match ? { id: 'hit.rowid' } : {}
  const list = listSql(resource, query, { ...SQLITE_PARAMETERS, ...id })
  const beginning = match?.beginning ? beginningSql(match.beginning) : null
  const hits = match && hitsSql(words, match.words)
  const from = hits
    ? `FROM ${hits.sql} AS hit CROSS JOIN ${facts} AS owner ON owner.id = hit.rowid`
    : `FROM ${facts} AS owner`
  const isOfWordsAlone = beginning === null && query.where.length === 0 && query.from.after === null
  return {
    orderBy: list.orderBy,
    sql: `${from} WHERE ${list.where}${beginning ? ` AND ${beginning.sql}` : ''}`,
    parameters: [...(hits?.parameters ?? []), ...list.parameters, ...(beginning?.parameters ?? [])],
    ofWordsAlone: hits && isOfWordsAlone ? `FROM ${hits.sql}` : null,
  }
}

/** The items that a query of FTS5 finds. */
function hitsSql(words: string, query: string): { sql: string; parameters: Parameter[] } {
  const prefixes = new Map(Array.from(query.matchAll(LONG_PREFIX), ([term, text = '']) => [term, text]))
  let querySql = '?'
  const parameters: Parameter[] = [query]
  for (const [term, text] of prefixes) {
    querySql = `replace(${querySql}, ?, coalesce(${anyWordSql(words)}, ?))`
    const end = `${text}\u{10ffff}`
    parameters.push(term, text, end, end, term)
  }
  return { sql: `${words}(${querySql})`, parameters }
}

/** SQL for the query of FTS5 that asks for each word from one text up to another; `NULL` if there are none, or too many. */
function anyWordSql(words: string): string {
  // Each is looked up after the one before it, because a walk over the words would read all their items.
  const firstFrom = (text: string) => `(SELECT term FROM ${words}_terms WHERE term >= ${text} LIMIT 1)`
  return `(WITH RECURSIVE word(text) AS (
      SELECT ${firstFrom('?')} UNION ALL SELECT ${firstFrom('word.text || char(1)')} FROM word WHERE text < ? LIMIT ${WORDS_MAX + 1}
    ) SELECT '(' || group_concat('"' || text || '"', ' OR ') || ')' FROM word WHERE text < ? HAVING count(*) <= ${WORDS_MAX})`
}

/** A condition on how a name begins. */
function beginningSql({ text, isOpen, isWanted }: Beginning): { sql: string; parameters: Parameter[] } {
  const begins = `substr(owner.beginning${isOpen ? '' : " || ' '"}, 1, ?) = ?`
  return { sql: isWanted ? begins : `NOT ${begins}`, parameters: [[...text].length, text] }
}
