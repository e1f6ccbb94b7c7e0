/** A nested array shows its first items by id, at most this many; the whole collection has a list of its own. */
export const NESTED_MAX = 100

type TableName = 'categories' | 'products' | 'users' | 'reviews'

/** As a 404 names it. */
export type ResourceName = 'Category' | 'Product' | 'User' | 'Review'

/** Only the request's body bounds a `long text`, so it decides how much of a list is held in memory at once. */
export type ColumnType = 'text' | 'long text' | 'integer' | 'small integer' | 'number'

export type Value = string | number | null

/** The columns of a row but for its id. */
export type Values = { readonly [column: string]: Value }

/** How one kind of resource is stored and shown. Stated once; each engine reads and writes any resource by it. */
export interface StoredResource<Row extends Values> {
  readonly name: ResourceName
  readonly table: TableName
  readonly columns: { readonly [Column in keyof Row & string]: ColumnType }
  /** The members of a response between its `id` and its array, in their order. */
  readonly members: readonly Member<Row>[]
  /** Columns that hold the id of another row, which must exist; `null` refers to nothing. A 404 names the first absent one. */
  readonly references: readonly Reference<Row>[]
  /** Columns that an update leaves as they are. */
  readonly keptOnUpdate: readonly (keyof Row & string)[]
  /** The array of rows that refer to this one, the last member of a response; `null` if it shows none. */
  readonly array: NestedArray | null
  /** The lists it appears in, by the columns that select them; SQLite has an index for each, with its rows in order of id. */
  readonly lists: readonly List<Row>[]
}

/** A column, a member that always has the same text, or an object with columns of the row that a column refers to. */
type Member<Row extends Values> = (keyof Row & string) | ConstantMember | NestedObject<Row>

interface ConstantMember {
  readonly name: string
  readonly text: string
}

export interface NestedObject<Row extends Values = Values> {
  readonly name: string
  readonly table: TableName
  readonly referredBy: keyof Row & string
  readonly columns: NestedColumns
}

interface Reference<Row extends Values = Values> {
  readonly column: keyof Row & string
  readonly table: TableName
  readonly resource: ResourceName
}

export type NestedColumns = Readonly<Record<string, ColumnType>>

export interface NestedArray {
  readonly member: string
  readonly table: TableName
  /** The column of its rows that refers to their owner. */
  readonly key: string
  readonly index: string
  readonly columns: NestedColumns
  /** What the schema does with the rows when their owner is deleted. */
  readonly onDelete: 'cascade' | 'set null'
  /** Other tables whose arrays show these rows, too. */
  readonly alsoShownBy: readonly TableName[]
}

interface List<Row> {
  readonly by: readonly (keyof Row & string)[]
  readonly index: string
}
