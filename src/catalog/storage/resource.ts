/** Limit on the items that a nested array shows. The whole collection has a list of its own. */
export const NESTED_MAX = 100

/** Limit on the JSON of these items, in characters. The first item is always shown. */
export const NESTED_MAX_CHARACTERS = 1_048_576

export type TableName = 'categories' | 'products' | 'users' | 'reviews'

/** The name in a 404. */
export type ResourceName = 'Category' | 'Product' | 'User' | 'Review'

/** A `long text` is limited by the request body only, so it decides how many items are held in memory at once. */
export type ColumnType = 'text' | 'long text' | 'integer' | 'small integer' | 'number'

export type Value = string | number | null

/** The columns of a row, except its id. */
export type Values = { readonly [column: string]: Value }

/** Describes how one kind of resource is stored and shown, for every engine. */
export interface StoredResource<Row extends Values> {
  readonly name: ResourceName
  readonly table: TableName
  readonly columns: { readonly [Column in keyof Row & string]: ColumnType }
  /** The members of a response between its `id` and its array, in order. */
  readonly members: readonly Member<Row>[]
  /** Members after all others, which a client has to ask for by name. */
  readonly furtherMembers: readonly Member<Row>[]
  /** If the members were chosen: whether a response shows the `id`. Then it also shows all `furtherMembers`. */
  readonly chosen?: { readonly hasId: boolean }
  /** Columns with the id of another row, which must exist, or `null`. A 404 names the first one that is missing. */
  readonly references: readonly Reference<keyof Row & string>[]
  /** Columns that an update does not change. */
  readonly keptOnUpdate: readonly (keyof Row & string)[]
  /** The last member of a response, an array of the rows that reference this one; `null` if there is none. */
  readonly array: NestedArray | null
  /** Columns that the change log has for followers, besides the references. */
  readonly followed: readonly (keyof Row & string)[]
  /** The lists of this resource, besides that of all rows, by the columns that select them. */
  readonly lists: readonly List<Row>[]
  /** The query parameters that select rows of its lists, by their names. */
  readonly filters: Readonly<Record<string, Filter<Row>>>
  /** The orders of its lists, by the words of the parameter `sort`. A minus before a word reverses the order. */
  readonly orders: Readonly<Record<string, SortOrder<Row>>>
  /** What the index has of it; `null` if nothing. */
  readonly index: IndexDescription | null
}

/** A resource whose lists the index knows. */
export interface IndexedResource<Row extends Values> extends StoredResource<Row> {
  readonly index: IndexDescription
}

/** The tables of the index of one kind of resource. Searches look for words in its `name` and in one other column. */
export interface IndexDescription {
  readonly table: TableName
  /** A row for each item, with what lists are selected and ordered by. */
  readonly facts: string
  /** On SQLite, the words of each item. */
  readonly words: string
  /** The other column in which words are searched. */
  readonly text: string
  /** Columns that the facts have unchanged. */
  readonly copied: Readonly<Record<string, ColumnType>>
  /** The part of notes about items whose words are as before, if there are any. */
  readonly values: string | null
  /** The table with the counts of an item's ratings, if it has any. */
  readonly ratings: string | null
}

/** Describes the index of a resource that has no order but that of its names. `one` is the table's name in the singular. */
export function nameIndex(table: TableName, one: string, text: string): IndexDescription {
  return { table, facts: `${one}_facts`, words: `${one}_words`, text, copied: {}, values: null, ratings: null }
}

/** Whether the rows themselves tell a list, or only the index. */
export type ListSource = 'rows' | 'index'

/** A column by which rows are selected or ordered: one of their own, or one of the index. */
export type Column<Row extends Values> = (keyof Row & string) | 'id' | IndexColumn

/** What the index has of a row besides its own columns. */
export type IndexColumn = 'sort_name' | 'score' | 'review_count' | 'average' | 'rank'

/** How the rows of a list compare with a value. */
export type Comparison = '=' | '<' | '<=' | '>='

/** A query parameter that a column is compared with. */
export type Filter<Row extends Values> = {
  readonly column: Column<Row>
  readonly source: ListSource
  readonly minimum?: number
  readonly maximum?: number
  /** For `/openapi.strict.json`. */
  readonly description: string
} & (
  | { readonly is: Comparison }
  | {
      /** A list of integers. */
      readonly is: 'in'
      readonly valuesMax: number
      /** Whether 0 stands for rows without a value. */
      readonly isZeroNull?: true
      /** Whether only the list of all rows has it. */
      readonly isOfAll?: true
    }
)

/**
 * A column by which lists can be ordered, which is never null: NULLs come first on SQLite and last on PostgreSQL, and a cursor
 * would not compare with them. So no column of the rows that may be null, and not `average`, which products without reviews lack.
 */
export type OrderColumn<Row extends Values> =
  | NeverNull<Row, keyof Row & string>
  | 'id'
  | Exclude<IndexColumn, 'average'>

type NeverNull<Row extends Values, Name extends keyof Row> = Name extends unknown
  ? null extends Row[Name]
    ? never
    : Name
  : never

/** The filter for rows with some ids. */
export function idFilter(rows: TableName) {
  return {
    column: 'id',
    source: 'rows',
    is: 'in',
    valuesMax: 100,
    description: `Only ${rows} with one of these ids`,
    isOfAll: true,
  } as const
}

interface SortOrder<Row extends Values> {
  readonly by: readonly OrderColumn<Row>[]
  readonly source: ListSource
  /** Only the list of the rows that reference a row by this column has it. */
  readonly within?: keyof Row & string
}

/** A column, a constant, an object with columns of the row that a column references, or the rating of the rows that refer to it. */
export type Member<Row extends Values> = (keyof Row & string) | ConstantMember | NestedObject<Row> | RatingMember

interface ConstantMember {
  readonly name: string
  readonly text: string | null
}

interface RatingMember {
  readonly name: 'rating'
  /** The table of counts, one row for each owner. */
  readonly counts: string
}

export interface NestedObject<Row extends Values = Values> {
  readonly name: string
  readonly table: TableName
  readonly referredBy: keyof Row & string
  readonly columns: NestedColumns
}

export interface Reference<Column extends string> {
  readonly column: Column
  readonly table: TableName
  readonly resource: ResourceName
}

export type NestedColumns = Readonly<Record<string, ColumnType>>

export interface NestedArray {
  /** The table of its rows, and the name of the member. */
  readonly table: TableName
  /** The column of its rows that references their owner. */
  readonly key: string
  readonly index: string
  /** On SQLite, the index has the columns, too, except long texts. */
  readonly isWide: boolean
  readonly columns: NestedColumns
  /** The foreign key's action on the rows when their owner is deleted. */
  readonly onDelete: 'cascade' | 'set null'
  /** The column of its rows that the change log tells for followers when the rows are deleted with their owner; `null` for none. */
  readonly followedOnDelete: string | null
  /** Other tables whose arrays also show these rows. */
  readonly alsoShownBy: readonly TableName[]
}

interface List<Row> {
  readonly by: readonly (keyof Row & string)[]
  /**
   * On SQLite, the index of its rows, in the order of their ids. A list by two columns has an index for each, which has the other
   * column as well, and uses the one with fewer rows.
   */
  readonly indexes: readonly string[]
}
