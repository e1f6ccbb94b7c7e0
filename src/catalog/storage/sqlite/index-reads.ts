import type { Parameter } from '../../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import type { ReadAll } from '../../../database/sqlite/reading-thread.ts'
import { notedParts } from '../index/facts.ts'
import type { IndexReader, IndexReads } from '../index/lists.ts'
import { type Beginning, type MatchSyntax, matchOf, type Rank } from '../index/matching.ts'
import type { ListQuery } from '../query.ts'
import { listSql } from '../query-sql.ts'
import type { IndexedResource, Values } from '../resource.ts'
import { countBeside, pageBeside, SQLITE_PARAMETERS } from './lists.ts'

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
    ...readsBy(database.beside.all),
    together: work => database.beside.together(all => work(readsBy(all))),
  }
}

/** The parts of a statement, and the parameters in them. */
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
