import type { Search } from '../search/search.ts'
import type {
  Column,
  ColumnType,
  Comparison,
  IndexColumn,
  ListSource,
  OrderColumn,
  StoredResource,
  Value,
  Values,
} from './resource.ts'

/** A request for a list. Every engine gets this one value, and the cache uses its JSON as the key. */
export interface ListQuery<Row extends Values> {
  /** All of these must hold. */
  readonly where: readonly Condition<Row>[]
  /** The words that items must have, which only the index knows; `null` for all items. */
  readonly search: Search | null
  readonly order: Order<Row>
  /** Whether the rows themselves tell the list, or only the index. */
  readonly source: ListSource
  readonly from: Start
  /** The last place; `null` if there is none. */
  readonly until: Cursor | null
  readonly limit: number
}

export type Condition<Row extends Values> =
  | { readonly column: Column<Row>; readonly is: Comparison; readonly value: Value }
  /** `null` is equal to `null`. */
  | { readonly column: Column<Row>; readonly is: 'in'; readonly value: readonly (number | null)[] }

const INDEX_TYPES: Readonly<Record<string, ColumnType>> = {
  sort_name: 'text',
  score: 'number',
  review_count: 'integer',
  average: 'number',
  rank: 'small integer',
} satisfies Record<IndexColumn, ColumnType>

/**
 * By these columns, then by the id, all in the same direction. So no two rows are equal, and an index serves both directions. By
 * the rank alone, the ids ascend although the ranks descend.
 */
export interface Order<Row extends Values> {
  readonly by: readonly OrderColumn<Row>[]
  readonly isDescending: boolean
}

/** The beginning of a list. */
interface Start {
  /** Only rows after this place; `null` for all of them. */
  readonly after: Cursor | null
  /** Number of further rows to pass over. */
  readonly skip: number
}

/** A place in a list: the values of the order's columns and the id, of a row that is there or was there. */
export type Cursor = readonly Value[]

export const BY_ID = { by: [], isDescending: false } as const

/** The best match first. Only with a search. */
export const BY_RELEVANCE = { by: ['rank'], isDescending: false } as const

/** The limit of lists whose length a request cannot limit. */
export const NO_LIMIT: number = Number.MAX_SAFE_INTEGER

/** A list of all rows, from its beginning. */
export function wholeList<Row extends Values>(): ListQuery<Row> {
  return {
    where: [],
    search: null,
    order: BY_ID,
    source: 'rows',
    from: { after: null, skip: 0 },
    until: null,
    limit: NO_LIMIT,
  }
}

/** Whether values decide which rows are in a list, or their order, so that an update can move a row into it or out of it. */
export function looksAtValues<Row extends Values>({ where, order, source }: ListQuery<Row>): boolean {
  return source === 'index' || order.by.length > 0 || where.some(({ column, is }) => is !== '=' && column !== 'id')
}

/** The type of a column of the rows, or of the index. */
export function typeOf<Row extends Values>({ columns }: StoredResource<Row>, column: Column<Row>): ColumnType {
  const own: Readonly<Record<string, ColumnType>> = columns
  return own[column] ?? INDEX_TYPES[column] ?? 'integer'
}
