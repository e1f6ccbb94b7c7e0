import type { Claim } from '../storage/idempotency/keys.ts'
import type { ColumnType, TableName, Value } from '../storage/resource.ts'

/** A row to store. Without an `id` it gets the next one. */
export type NewRow = { readonly id?: number | undefined } & Readonly<Record<string, Value | undefined>>

/** The part of a resource's description that is needed to store its rows. */
export interface StoredRows {
  readonly table: TableName
  readonly columns: Readonly<Record<string, ColumnType>>
  readonly references: readonly { readonly column: string; readonly table: TableName }[]
}

/** Why a row cannot be stored. */
export interface Refusal {
  /** `id`, or the column that references a missing row. */
  readonly column: string
  /** `not new`: a row has or had this id or a higher one. */
  readonly reason: 'taken' | 'not new' | 'absent'
}

export interface Stored {
  /** In the order of the stored rows. */
  readonly ids: readonly number[]
  /** By the position of the row in the input. All other rows were stored. */
  readonly refused: ReadonlyMap<number, Refusal>
}

/** Stores many rows in one transaction. */
export interface Load {
  /** Whether there is no category, product or user. */
  isEmpty(): Promise<boolean>
  store(resource: StoredRows, rows: readonly NewRow[]): Promise<Stored>
  /** Call it after the last row. `report` gets the number of indexes created so far. */
  complete(report?: (done: number, total: number) => void): Promise<void>
  /** Stores the answer to a request with an `Idempotency-Key`. Rejects with a `KeyTakenError`. */
  keep(claim: Claim, answer: string): Promise<void>
}

/** Loads many rows at once, on either engine. */
export interface Loader {
  /** Runs `work` in one transaction, which commits if `work` resolves and rolls back if it rejects. */
  load<Result>(work: (load: Load) => Promise<Result>): Promise<Result>
}
