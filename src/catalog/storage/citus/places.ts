import type { TableName, Value } from '../resource.ts'
import { shardColumn } from './shards.ts'

/** Limit on the rows whose place is remembered. */
const PLACES_MAX = 100_000

/** A row with the column that decides which shard has it. */
type PlacedRow = { readonly id: number } & Readonly<Record<string, Value | undefined>>

/**
 * Remembers where rows are whose own id does not tell their shard: a review is on the shard of its product. A place is only a
 * guess: a statement that uses it also finds the row by its id, so nothing has to be forgotten when a row is moved.
 */
export class Places {
  /** The column whose value is the place; `null` if the id tells it, or if every server has the row. */
  readonly column: string | null
  readonly #places = new Map<number, number>()

  constructor(table: TableName) {
    const column = shardColumn(table)
    this.column = column === 'id' ? null : column
  }

  note(row: PlacedRow): void {
    const place = this.column === null ? null : row[this.column]
    if (typeof place !== 'number') return
    if (this.#places.size >= PLACES_MAX) this.#places.clear()
    this.#places.set(row.id, place)
  }

  /** The place of a row as far as it is known. */
  of(id: number): number | undefined {
    return this.#places.get(id)
  }
}
