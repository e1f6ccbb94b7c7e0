import type { Table } from '../database/table.ts'

/** A snapshot of a database. */
export interface Source {
  /** The number of rows in a table. */
  count(table: Table): Promise<number>
  /** The rows in the order of their keys, as lines in UTF-8. A chunk may end within a line. */
  lines(table: Table): AsyncIterable<Uint8Array>
  /** The highest id ever assigned, including ids of deleted rows; 0 if there is none. */
  lastId(table: Table): Promise<number>
}

/** A transaction in an empty database, locked for others until it ends. Reads see the rows that are stored so far. */
export interface Target extends Source {
  /** Stores lines as `Source.lines` yields them. */
  store(table: Table, lines: AsyncIterable<Uint8Array>): Promise<void>
  /** Creates indexes and foreign keys, which is faster after the rows are stored. `report` gets the number done so far. */
  complete(report: (done: number, total: number) => void): Promise<void>
  /** Makes the table's next id higher than `id`. */
  continueAfter(table: Table, id: number): Promise<void>
}

export const NOT_EMPTY = 'TO is not empty, so nothing was copied; copy needs an empty database'

export interface Store {
  /** Runs `work` on a snapshot, which concurrent writes do not change. */
  read<Result>(work: (source: Source) => Promise<Result>): Promise<Result>
  /**
   * Runs `work` in a transaction, which commits if `work` resolves and rolls back if it rejects or the process dies.
   * Rejects with an `OperatorError` if the database is not empty.
   */
  fill<Result>(work: (target: Target) => Promise<Result>): Promise<Result>
}
