import type { Cursor, ListQuery } from '../query.ts'
import { BY_ID } from '../query.ts'
import type { Values } from '../resource.ts'
import type { Counted, IdLists, IdPage } from '../store.ts'
import type { CatchingUp } from './catching-up.ts'
import { RANKS, type Rank } from './matching.ts'

/** The first items of a list, and one more if there are more. */
interface Selected {
  readonly places: readonly Cursor[]
  readonly isCurrent: boolean
}

/** Reads the index of one kind of resource. With a rank, only the matches of this rank. */
export interface IndexReads<Row extends Values> {
  select(query: ListQuery<Row>, rank: Rank | null): Promise<Selected>
  count(query: ListQuery<Row>, rank: Rank | null, most: number): Promise<Counted>
}

/** The lists of one kind of resource: those that its rows tell, and those that only its index knows, if it has one. */
export function listsOf<Row extends Values>(rows: IdLists<Row>, indexed: IdLists<Row> | null): IdLists<Row> {
  const knowing = ({ source }: ListQuery<Row>) => (source === 'index' && indexed ? indexed : rows)
  return {
    page: query => knowing(query).page(query),
    count: (query, most) => knowing(query).count({ ...query, order: BY_ID, from: { after: null, skip: 0 } }, most),
  }
}

/** Lists of one kind of resource that only the index knows. Each first brings the index up to date. */
export function indexedLists<Row extends Values>(reads: IndexReads<Row>, catchingUp: CatchingUp): IdLists<Row> {
  /** Reads the matches of one rank after the other, until the page is full. */
  const selectByRank = async (query: ListQuery<Row>): Promise<Selected> => {
    const [rankOfPlace, idOfPlace] = query.from.after ?? [RANKS[0]]
    const places: Cursor[] = []
    let { skip } = query.from
    let isCurrent = true
    for (const rank of RANKS) {
      if (rank > Number(rankOfPlace)) continue
      const isContinued = rank === rankOfPlace && idOfPlace !== undefined
      const after = isContinued ? [idOfPlace] : null
      const some = { ...query, order: BY_ID, from: { after, skip }, limit: query.limit - places.length }
      const selected = await reads.select(some, rank)
      isCurrent &&= selected.isCurrent
      for (const [id] of selected.places) if (id !== undefined) places.push([rank, id])
      if (places.length > query.limit) break
      // All of them were passed over.
      if (skip > 0) skip = places.length > 0 ? 0 : skip - (await reads.count(some, rank, skip)).count
    }
    return { places, isCurrent }
  }

  return {
    page: async (query): Promise<IdPage> => {
      await catchingUp.upToDate()
      const isByRank = query.order.by[0] === 'rank'
      const { places, isCurrent } = await (isByRank ? selectByRank(query) : reads.select(query, null))
      const shown = places.slice(0, query.limit)
      return {
        ids: shown.map(place => Number(place.at(-1))),
        last: shown.at(-1) ?? null,
        more: places.length > query.limit,
        isCurrent,
      }
    },
    count: async (query, most) => {
      await catchingUp.upToDate()
      return reads.count(query, null, most)
    },
  }
}
