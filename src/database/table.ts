/**
 * The type of a column, in words that both engines share, and its form in a row that is copied:
 *
 * - `integer`, `flag`: decimal digits; a flag is 0 or 1
 * - `number`: a double with the digits that JavaScript writes, which is exact
 * - `text`: as it is
 * - `time`: UTC to the millisecond, in ISO 8601
 */
export type ColumnType = 'integer' | 'flag' | 'number' | 'text' | 'time'

/** A table as `copy` moves it from one database to another. */
export interface Table {
  readonly name: string
  /** Identifies a row; rows are compared in its order, texts by their bytes in UTF-8. */
  readonly key: string
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Columns that PostgreSQL stores in another form: how to read them there. */
  readonly postgres?: Readonly<Record<string, string>>
  /** SQL that PostgreSQL runs after the rows of all tables have arrived. */
  readonly postgresAfterCopy?: string
}
