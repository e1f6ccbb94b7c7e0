import type { Awaitable } from '../../../awaitable.ts'
import { BusyError } from '../../../limits/busy-error.ts'
import { FairQueue } from '../../../limits/fair-queue.ts'
import { timed } from '../../../tracing/timeline.ts'
import type { ListQuery } from '../query.ts'
import type { Values } from '../resource.ts'
import type { CatchingUp } from './catching-up.ts'

const WAITING_MAX = 64
const WAIT_MAX_MS = 5_000

const TOO_MANY = 'Too many facets are waiting to be counted'

/** The least averages of the facet of ratings. */
export const LEAST_STARS = [4, 3, 2, 1] as const

/** Each facet, with the column of the filters that it ignores, so that a client can choose another value. */
const OWN_COLUMNS = { category_id: 'category_id', price: 'price', rating: 'average' } as const

export type FacetName = keyof typeof OWN_COLUMNS
export const FACET_NAMES = ['category_id', 'price', 'rating'] as const satisfies FacetName[]

/** What is asked about the products that match. */
export interface FacetsQuery<Row extends Values> {
  readonly list: ListQuery<Row>
  readonly names: readonly FacetName[]
  /** The bounds between bands of prices, ascending. */
  readonly priceBands: readonly number[]
  readonly categoryLimit: number
}

/** Counts facets. While nothing changes that they show, it may return the same object. */
export type CountFacets<Row extends Values> = (query: FacetsQuery<Row>) => Awaitable<{ readonly json: string }>

/** 0 stands for products without a category. */
interface CategoryCount {
  readonly value: number
  readonly name: string | null
  readonly count: number
}

/** What an engine counts in one pass over the products that match. */
interface FacetCounts {
  readonly count: number
  readonly min: number | null
  readonly max: number | null
  /** How many cost less than each bound. */
  readonly below: readonly number[]
  /** How many have at least these averages: see `LEAST_STARS`. */
  readonly rated: readonly number[]
  /** Those with the most products, then the other ones that were named. */
  readonly categories: readonly CategoryCount[]
}

/** What is counted besides. */
export interface CountedParts {
  readonly priceBands: readonly number[]
  readonly categoryLimit: number
  /** Categories that are in the answer even if nothing in them matches; 0 for none. */
  readonly named: readonly number[]
}

type FacetReads<Row extends Values> = (list: ListQuery<Row>, parts: CountedParts) => Promise<FacetCounts>

/** Counts several times at one moment. `work` may be called again. */
export type ReadFacets<Row extends Values> = <Result>(
  work: (read: FacetReads<Row>) => Promise<Result>,
) => Promise<Result>

/** The row in which an engine returns its counts. */
export interface CountedRow {
  readonly least: number | null
  readonly most: number | null
  /** JSON of the categories with the most products, and of the other ones that were named. */
  readonly categories: string | null
  readonly others: string | null
  readonly [count: string]: number | string | null
}

/**
 * Besides `number`, `least` and `most`, an engine counts these columns of each group of products: how many cost less than each bound,
 * then how many have at least each average. `ofAll` is SQL that counts all groups together.
 */
export function countedColumns(priceBands: readonly number[], cast = '') {
  const names = [...priceBands.map((_, at) => `below_${at}`), ...LEAST_STARS.map(stars => `rated_${stars}`)]
  const sums = ['number', ...names].map(name => `coalesce(sum(${name}), 0)${cast} AS ${name}`)
  return { names, ofAll: ['min(least) AS least, max(most) AS most', ...sums].join(', ') }
}

/** Reads the counts in a row with the columns `ofAll`. */
export function countsIn(row: CountedRow | undefined, priceBands: readonly number[]): FacetCounts {
  const count = (name: string) => Number(row?.[name] ?? 0)
  const listed = (json: string | null | undefined): readonly CategoryCount[] => (json ? JSON.parse(json) : [])
  return {
    count: count('number'),
    min: row?.least ?? null,
    max: row?.most ?? null,
    below: priceBands.map((_, at) => count(`below_${at}`)),
    rated: LEAST_STARS.map(stars => count(`rated_${stars}`)),
    categories: [...listed(row?.categories), ...listed(row?.others)],
  }
}

/**
 * Makes the function that counts the products that match by category, price and rating, for one request at a time. It rejects
 * with a `BusyError` if too many others wait.
 */
export function facetCounter<Row extends Values>(readTogether: ReadFacets<Row>, index: CatchingUp) {
  const queue = new FairQueue(1)
  return async ({ list, names, priceBands, categoryLimit }: FacetsQuery<Row>) => {
    if (queue.length >= WAITING_MAX) throw new BusyError(TOO_MANY)
    using _ = await timed('waiting for other facets', () => queue.takeWithin(WAIT_MAX_MS, TOO_MANY))
    await index.upToDate()
    const named = list.where.flatMap(({ column, value }) =>
      column === OWN_COLUMNS.category_id && Array.isArray(value) ? value.map(id => id ?? 0) : [],
    )
    const parts = { priceBands, categoryLimit, named }
    // Otherwise a facet would count products that others do not.
    return await readTogether(async read => {
      const all = await read(list, parts)
      const countsOf = async (name: FacetName) => {
        const others = list.where.filter(({ column }) => column !== OWN_COLUMNS[name])
        return others.length === list.where.length ? all : read({ ...list, where: others }, parts)
      }
      // In the order of the answer.
      return {
        count: all.count,
        ...(names.includes('category_id') && { category_id: (await countsOf('category_id')).categories }),
        ...(names.includes('price') && { price: priceFacet(await countsOf('price'), priceBands) }),
        ...(names.includes('rating') && { rating: ratingFacet(await countsOf('rating')) }),
      }
    })
  }
}

function priceFacet({ count, min, max, below }: FacetCounts, bounds: readonly number[]) {
  const ends = bounds.length === 0 ? [] : [...bounds, null]
  const bands = ends.map((end, at) => {
    const before = at === 0 ? 0 : (below[at - 1] ?? 0)
    return { min: bounds[at - 1] ?? null, max: end, count: (below[at] ?? count) - before }
  })
  return { min, max, bands }
}

function ratingFacet({ rated }: FacetCounts) {
  return LEAST_STARS.map((min, at) => ({ min, count: rated[at] ?? 0 }))
}
