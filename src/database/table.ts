/**
 * An engine-independent column type, and how `copy` writes its values:
 *
 * - `integer`, `flag`: decimal digits; a flag is 0 or 1
 * - `number`: a double, in the exact digits that JavaScript prints
 * - `text`: unchanged
 * - `time`: ISO 8601 in UTC, with milliseconds
 */
export type ColumnType = 'integer' | 'flag' | 'number' | 'text' | 'time'

/** Describes a table to `copy`, which moves it from one database to another. */
export interface Table {
  readonly name: string
  /** The primary key. Rows are compared in its order; texts sort by their UTF-8 bytes. */
  readonly key: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Columns that PostgreSQL stores in another form: the SQL that reads them. */
  readonly postgres?: Readonly<Record<string, string>>
  /** SQL to run on PostgreSQL after the rows of all tables are stored. */
  readonly postgresAfterCopy?: string
}
