import type { Change, GoneRows, References } from '../../database/change.ts'
import type { StoredResource, Value, Values } from './resource.ts'

/** Limit on the ids that a follower is told of rows that were deleted with another one. */
export const GONE_IDS_MAX = 1_000

/** A change that was made to a row, as it is logged. */
interface Made {
  readonly id: number
  /** `null` if it is new. */
  readonly before: Values | null
  /** `null` if it is gone. */
  readonly after: Values | null
  /** The rows that were deleted with it, if followers are told of them. */
  readonly gone?: GoneRows | null
}

/** The entry of the change log for a change to a row. Followers need more of it than caches. */
export function changeOf<Row extends Values>(
  resource: StoredResource<Row>,
  { id, before, after, gone = null }: Made,
  isFollowed: boolean,
): Change {
  const { table, references, followed } = resource
  const referenced = references.map(({ column }) => column)
  const change = { table, id, before: before && ids(before, referenced), after: after && ids(after, referenced) }
  const values = after ?? before
  if (!isFollowed || !values) return change
  const told = Object.fromEntries(followed.map(column => [column, values[column] ?? null]))
  return { ...change, ...(followed.length > 0 && { values: told }), ...(gone && gone.count > 0 && { gone }) }
}

function ids(values: Values, columns: readonly string[]): References {
  return Object.fromEntries(columns.map(column => [column, idIn(values[column])]))
}

function idIn(value: Value | undefined): number | null {
  return typeof value === 'number' ? value : null
}

/** Sums up rows that were deleted with another one, by the ids that they referenced. */
export class Gone {
  readonly #ids = new Set<number>()
  #count = 0

  add(id: number): void {
    this.#count += 1
    if (this.#ids.size <= GONE_IDS_MAX) this.#ids.add(id)
  }

  get rows(): GoneRows {
    const isMany = this.#ids.size > GONE_IDS_MAX
    return { count: this.#count, of: isMany ? null : [...this.#ids].sort((one, other) => one - other) }
  }
}
