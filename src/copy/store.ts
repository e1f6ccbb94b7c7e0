import type { Table } from '../database/table.ts'

/** One moment of a database. */
export interface Source {
  /** How many rows a table has. */
  count(table: Table): Promise<number>
  /** Its rows in the order of their keys, as lines in UTF-8. A chunk may end within a line. */
  lines(table: Table): AsyncIterable<Uint8Array>
  /** The highest id that the table has ever given, also to a row that was deleted since; 0 for none. */
  lastId(table: Table): Promise<number>
}

/** A transaction in an empty database, which nobody else uses until it ends. It shows what is stored so far. */
export interface Target extends Source {
  /** Takes what `Source.lines` gives. */
  store(table: Table, lines: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Sees to all that is easier seen to at once than row by row: indexes, foreign keys. `done` is called with how many
   * of them are there.
   */
  complete(done: (count: number, total: number) => void): Promise<void>
  /** Makes the next id of the table a higher one than `id`. */
  continueAfter(table: Table, id: number): Promise<void>
}

export const NOT_EMPTY = 'TO is not empty, and stays as it is: copy fills an empty database'

export interface Store {
  /** All that `work` reads is of the moment at which it begins, whoever writes meanwhile. */
  read<Result>(work: (source: Source) => Promise<Result>): Promise<Result>
  /**
   * Whatever `work` stores is there when it resolves, and nothing of it when it rejects, or when this process ends.
   * Rejects with an `OperatorError` where the database is not empty.
   */
  fill<Result>(work: (target: Target) => Promise<Result>): Promise<Result>
}
