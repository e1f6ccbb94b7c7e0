import type { ColumnType, TableName, Value } from '../storage/resource.ts'

/** A row to store; without an `id` it gets the next one. */
export type NewRow = { readonly id?: number | undefined } & Readonly<Record<string, Value | undefined>>

/** What has to be known of a resource to store its rows. */
export interface StoredRows {
  readonly table: TableName
  readonly columns: Readonly<Record<string, ColumnType>>
  readonly references: readonly { readonly column: string; readonly table: TableName }[]
}

/** Why a row cannot be stored: its id is taken, or it refers to a row that does not exist. */
export interface Refusal {
  /** `id`, or the column that refers to nothing. */
  readonly column: string
}

export interface Stored {
  /** In the order of the rows that were stored. */
  readonly ids: readonly number[]
  /** By the place of the row among those given. All others were stored. */
  readonly refused: ReadonlyMap<number, Refusal>
}

/** How far an import came that was interrupted. */
export interface Interrupted {
  readonly records: number
  /** Of those records, to recognize the file. */
  readonly checksum: string
}

/** Stores many rows in one transaction. */
export interface Load {
  /** Whether there is no category, product or user. */
  isEmpty(): Promise<boolean>
  store(resource: StoredRows, rows: readonly NewRow[]): Promise<Stored>
  /** Call it after the last row. `report` gets the number of indexes made so far. */
  complete(report?: (done: number, total: number) => void): Promise<void>
  interrupted(file: string): Promise<Interrupted | null>
  /** `null` forgets it. */
  remember(file: string, state: Interrupted | null): Promise<void>
}

/** How an engine takes in many rows at once. */
export interface Loader {
  /** Runs `work` in one transaction, which commits if `work` resolves: all that it stored is there then, or nothing. */
  load<Result>(work: (load: Load) => Promise<Result>): Promise<Result>
}
