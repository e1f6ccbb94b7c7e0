import { BY_ID, type Cursor, type ListQuery } from '../query.ts'
import type { Values } from '../resource.ts'
import type { IdLists, IdPage } from '../store.ts'
import type { CatchingUp } from './catching-up.ts'
import { RANKS, type Rank } from './matching.ts'

/** Reads the index of one kind of resource. With a rank, only the matches of this rank. */
export interface IndexReads<Row extends Values> {
  page(query: ListQuery<Row>, rank: Rank | null): Promise<IdPage>
  count(query: ListQuery<Row>, rank: Rank | null, most: number): Promise<number>
}

export interface IndexReader<Row extends Values> extends IndexReads<Row> {
  /** Reads several times at one moment. `work` may be called again. */
  together<Result>(work: (reads: IndexReads<Row>) => Promise<Result>): Promise<Result>
}

/**
 * The lists of one kind of resource: those that its rows tell, and those that only its index knows, if it has one. Each of the latter
 * first brings the index up to date.
 */
export function listsOf<Row extends Values>(
  rows: IdLists<Row>,
  reads: IndexReader<Row> | null,
  catchingUp: CatchingUp,
): IdLists<Row> {
  const indexed: IdLists<Row> | null = reads && {
    page: async query => {
      await catchingUp.upToDate()
      if (query.order.by[0] !== 'rank') return reads.page(query, null)
      // Otherwise an item whose rank changes between two reads would be in both, or in neither.
      return reads.together(together => pageByRank(together, query))
    },
    count: async (query, most) => {
      await catchingUp.upToDate()
      return reads.count(query, null, most)
    },
  }
  const knowing = ({ source }: ListQuery<Row>) => (source === 'index' && indexed ? indexed : rows)
  return {
    page: query => knowing(query).page(query),
    count: (query, most) => knowing(query).count(query, most),
  }
}

/** Reads the matches of one rank after the other, until the page is full. */
async function pageByRank<Row extends Values>(reads: IndexReads<Row>, query: ListQuery<Row>): Promise<IdPage> {
  const [rankOfPlace, idOfPlace] = query.from.after ?? [RANKS[0]]
  const ids: number[] = []
  let revisions: IdPage['revisions'] = []
  let last: Cursor | null = null
  let { skip } = query.from
  for (const rank of RANKS) {
    if (rank > Number(rankOfPlace)) continue
    const isContinued = rank === rankOfPlace && idOfPlace !== undefined
    const after = isContinued ? [idOfPlace] : null
    const some = { ...query, order: BY_ID, from: { after, skip }, limit: query.limit - ids.length }
    const page = await reads.page(some, rank)
    ids.push(...page.ids)
    revisions = revisions && page.revisions && [...revisions, ...page.revisions]
    if (page.last) last = [rank, ...page.last]
    if (page.more) return { ids, last, more: true, revisions }
    // All of them were passed over.
    if (skip > 0) skip = ids.length > 0 ? 0 : skip - (await reads.count(some, rank, skip))
  }
  return { ids, last, more: false, revisions }
}
