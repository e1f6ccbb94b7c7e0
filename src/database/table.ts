/**
 * An engine-independent column type, and how its values leave and enter a database:
 *
 * - `integer`, `number`: numbers; a flag is 0 or 1
 * - `text`: unchanged
 * - `time`: milliseconds since 1970
 */
export type TableColumnType = 'integer' | 'flag' | 'number' | 'text' | 'time'

/** Describes a table to what reads or fills whole tables. */
export interface Table {
  readonly name: string
  /** The primary key. Rows are read in its order; texts sort by their UTF-8 bytes. */
  readonly key: string
  readonly columns: Readonly<Record<string, TableColumnType>>
  /** Whether services show its rows, so that the change log has to tell of them. Its key is an id then, and the first column. */
  readonly isLogged?: boolean
  /** Columns that PostgreSQL stores in another form: the SQL that reads them. */
  readonly postgres?: Readonly<Record<string, string>>
  /** SQL to run on PostgreSQL after the rows of all tables are copied. */
  readonly postgresAfterCopy?: string
  /** SQL to run on Citus then, in place of the triggers that the table has on PostgreSQL. */
  readonly citusAfterCopy?: readonly string[]
}

/** The values of a row, in the order of its table's columns. */
export type Row = readonly (string | number | null)[]

/** Rows, some at a time. */
export type RowBatches = AsyncIterable<readonly Row[]> | readonly (readonly Row[])[]

/** Reads tables in one transaction. */
export interface TableReader {
  /** Whether none of the tables has a row. */
  areEmpty(tables: readonly Table[]): Promise<boolean>
  count(table: Table): Promise<number>
  /** All rows in the order of the key, some at a time. Read nothing else until the loop over them has ended. */
  rows(table: Table): AsyncIterable<readonly Row[]>
  /** The highest id that any row has or had; 0 if there is none. */
  lastId(table: Table): Promise<number>
}

/** Fills tables in one transaction. Reads see the rows that are stored so far. */
export interface TableWriter extends TableReader {
  /** Those of the ids that rows have. On PostgreSQL, nobody deletes these rows before the transaction ends. */
  existing(table: Pick<Table, 'name' | 'key'>, ids: readonly number[]): Promise<ReadonlySet<number>>
  /** Draws ids for new rows, above all that rows have or had. */
  nextIds(table: Table, count: number): Promise<number[]>
  /** Makes all further ids higher than `id`. */
  continueIds(table: Table, id: number): Promise<void>
  /** Stores rows with all columns of the table. If they are many, call `dropIndexes` first. */
  insert(table: Table, batches: RowBatches): Promise<void>
  /** Drops indexes and, on PostgreSQL, foreign keys. Creating them after the rows are stored takes a tenth of the time. */
  dropIndexes(tables: readonly Table[]): Promise<void>
  /** Call it after the last row: creates what was dropped. `report` gets the number of indexes created so far. */
  complete(report: (done: number, total: number) => void): Promise<void>
}
