import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Parameter, Query } from '../../../database/postgres/pool.ts'
import { notedParts } from '../index/facts.ts'
import type { IndexReader, IndexReads } from '../index/lists.ts'
import { type Beginning, type MatchSyntax, matchOf, RANKS, type Rank } from '../index/matching.ts'
import { BY_RELEVANCE, type Cursor, type ListQuery } from '../query.ts'
import { allOf, listSql } from '../query-sql.ts'
import type { IndexedResource, Values } from '../resource.ts'
import type { IdPage } from '../store.ts'
import { countRows, type Placed, type Places, POSTGRES_PARAMETERS, pageOf, readPage, readPlaces } from './lists.ts'

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

/** Reads the index of a resource on the primary. */
export function postgresIndexReads<Row extends Values>(
  database: PostgresDatabase,
  resource: IndexedResource<Row>,
): IndexReader<Row> {
  const { facts } = resource.index
  const noted = `SELECT id FROM index_notes WHERE part IN (${notedParts(resource.index)})`
  const knownRevision = `(SELECT revision FROM ${resource.table} WHERE id = owner.id AND id NOT IN (${noted}))`
  type Selection = ReturnType<typeof indexSelection<Row>>

  /** The first rows, whether they match or not. */
  const firstOf = ({ indexed, orderBy }: Selection, columns: string, most: string) =>
    `(SELECT ${columns} FROM ${facts} AS owner WHERE ${indexed} ORDER BY ${orderBy} LIMIT ${most}::bigint)`
  /** The rows among which are the matches, and how many of them to look through. */
  const rowsOf = (selected: Selection, most: number | null) => {
    const { from, where, hasWords, columns, parameter } = selected
    if (!hasWords) return { before: '', from }
    if (most !== null) return { before: '', from: `${firstOf(selected, '*', parameter(most))} AS owner WHERE ${where}` }
    return { before: `WITH owner AS MATERIALIZED (SELECT ${columns} FROM ${from}) `, from: 'owner WHERE TRUE' }
  }
  // Citus has the rows on other servers than the index. Before the first connection, nobody knows.
  const revision = () => (database.isDistributed ? null : knownRevision)
  const page = (ask: Query, query: ListQuery<Row>, rank: Rank | null, most: number | null): Promise<IdPage> => {
    const selected = indexSelection(resource, query, rank)
    return readPage(database, ask, query, { ...selected, ...rowsOf(selected, most), revision: revision() })
  }
  const count = (ask: Query, query: ListQuery<Row>, rank: Rank | null, most: number, rows: number | null) => {
    const selected = indexSelection(resource, query, rank)
    return countRows(database, ask, { ...selected, ...rowsOf(selected, rows) }, most)
  }
  /** The places of the matches of all ranks among the first rows, the best first. */
  const amongFirst = (ask: Query, query: ListQuery<Row>): Promise<Places> => {
    const selected = indexSelection(resource, query, null)
    const { where, matching, parameters, parameter } = selected
    const rank = `CASE WHEN ${matching(3)} THEN 3 WHEN ${matching(2)} THEN 2 ELSE 1 END`
    const most = parameter(FIRST_ROWS)
    const sql = {
      from: `(SELECT owner.id, ${rank} AS rank FROM ${firstOf(selected, '*', most)} AS owner WHERE ${where}) AS owner`,
      orderBy: 'owner.rank DESC, owner.id',
      parameters,
      revision: revision(),
      isWhole: `(SELECT count(*) < ${most}::bigint FROM ${firstOf(selected, 'owner.id', most)} AS first)`,
    }
    return readPlaces(database, ask, { ...query, order: BY_RELEVANCE }, sql)
  }
  const readsBy = (ask: Query) => ({
    page: async (query: ListQuery<Row>, rank: Rank | null, known?: IdPage) => {
      const rows = firstRows(query, query.from.skip)
      if (rows === null) return page(ask, query, rank, null)
      const first = known ?? (await page(ask, query, rank, rows))
      if (first.more) return first
      const further = furtherRows(query, rows, first.ids.length)
      const until = further === null || further > WALK_MAX ? lastPlace(query, first.ids) : null
      let second: IdPage | null = null
      if (until) second = await page(ask, { ...query, until }, rank, null)
      else if (further) second = await page(ask, query, rank, further)
      return second?.more ? second : page(ask, query, rank, null)
    },
    count: async (query: ListQuery<Row>, rank: Rank | null, most: number) => {
      const rows = firstRows(query, most)
      const first = rows === null ? null : await count(ask, query, rank, most, rows)
      return first === most ? first : count(ask, query, rank, most, null)
    },
  })
  /** Reads the ranks one after the other. From the beginning of the list, one look at the first rows is for all of them. */
  const readsByRank = (ask: Query): IndexReads<Row> => {
    const reads = readsBy(ask)
    let seen: Places | null = null
    return {
      ...reads,
      page: async (query, rank) => {
        if (rank === RANKS[0] && query.from.after === null && query.from.skip === 0) {
          seen = await amongFirst(ask, query)
        }
        if (seen === null) return reads.page(query, rank)
        const known = pageOf(ofRank(seen, rank), query.limit)
        return seen.isWhole ? known : reads.page(query, rank, known)
      },
    }
  }
  return {
    ...readsBy((sql, ...parameters) => database.readPlanned(ask => ask(sql, ...parameters))),
    together: work => database.readPlanned(ask => work(readsByRank(ask))),
  }
}

/** The places of one rank, in the order of ids. */
function ofRank({ places, revisions }: Placed, rank: Rank | null): Placed {
  const isOfRank = (_: unknown, at: number) => places[at]?.[0] === rank
  return {
    places: places.filter(isOfRank).map(place => place.slice(1)),
    revisions: revisions?.filter(isOfRank) ?? null,
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
  const matching = (of: Rank | null) => {
    const match = search && matchOf(search, of, TSQUERY)
    const words = match && `owner.words @@ ${parameter(match.words)}::text::tsquery`
    return match?.beginning ? `${words} AND ${beginningSql(match.beginning, parameter)}` : words
  }
  const match = matching(rank)
  if (match) conditions.push(match)
  const columns = [...query.order.by, 'id'].map(column => `owner.${column}`).join(', ')
  return {
    from: `${facts} AS owner WHERE ${allOf(conditions)}`,
    where: allOf(conditions),
    indexed: allOf(indexed),
    hasWords: match !== null,
    matching,
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
