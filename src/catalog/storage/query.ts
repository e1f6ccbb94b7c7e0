import type { Comparison, Value, Values } from './resource.ts'

/** A request for a list. Every engine gets this one value, and the cache uses it as its key. */
export interface ListQuery<Row extends Values> {
  /** All of these must hold. */
  readonly where: readonly Condition<Row>[]
  readonly order: Order<Row>
  readonly from: Start
  /** The last place; `null` if there is none. */
  readonly until: Cursor | null
  readonly limit: number
}

export interface Condition<Row extends Values> {
  readonly column: keyof Row & string
  readonly is: Comparison
  readonly value: Value
}

/** By these columns, then by the id, all in the same direction. So no two rows are equal, and an index serves both directions. */
export interface Order<Row extends Values> {
  readonly by: readonly (keyof Row & string)[]
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

/** A list of all rows, from its beginning. */
export function wholeList<Row extends Values>(): ListQuery<Row> {
  return { where: [], order: BY_ID, from: { after: null, skip: 0 }, until: null, limit: Number.MAX_SAFE_INTEGER }
}

/** Equal for equal queries only, because no member can be forgotten. */
export function keyOf<Row extends Values>(query: ListQuery<Row>): string {
  return JSON.stringify(query)
}
