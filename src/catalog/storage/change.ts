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

/**
 * The entry of the change log for a change to a row. It uses loops because every write makes one, and `map` and
 * `Object.fromEntries` took several times as long.
 */
export function changeOf<Row extends Values>(
  { table, references, followed }: StoredResource<Row>,
  { id, before, after, gone = null }: Made,
): Change {
  const change = { table, id, before: before && idsIn(before, references), after: after && idsIn(after, references) }
  const values = after ?? before
  if (!values) return change
  const told = followed.length > 0 ? { ...change, values: valuesIn(values, followed) } : change
  return gone && gone.count > 0 ? { ...told, gone } : told
}

function idsIn(values: Values, references: readonly { readonly column: string }[]): References {
  const ids: Record<string, number | null> = {}
  for (const { column } of references) {
    const value = values[column]
    ids[column] = typeof value === 'number' ? value : null
  }
  return ids
}

function valuesIn(values: Values, columns: readonly string[]): Values {
  const found: Record<string, Value> = {}
  for (const column of columns) found[column] = values[column] ?? null
  return found
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
