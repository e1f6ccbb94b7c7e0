import { COUNT_COLUMNS, ratingOf } from './rating.ts'
import type { ColumnType, Member, NestedArray, NestedObject, StoredResource, Value, Values } from './resource.ts'
import { NESTED_MAX, NESTED_MAX_CHARACTERS } from './resource.ts'
import type { Found } from './store.ts'

/** A row as an engine reads it, with the members of a response. Those of nested objects have names like `user.name`. */
export type FlatRow = { readonly id: number; readonly revision: number } & Readonly<Record<string, Value>>

/** An item of a nested array, or a nested object. */
export interface Item {
  readonly id: number
  readonly [column: string]: Value
}

/** SQL for one column of a table under an alias. */
export type ColumnSql = (source: string, column: string, type: ColumnType) => string

/**
 * SQL for the columns of a `FlatRow`, from the row's own table as `owner` and the tables that `joins` adds. The ids of rows that
 * it references are among them even if they are not shown.
 */
export function selectedColumns<Row extends Values>(resource: StoredResource<Row>, sql: ColumnSql): string {
  const { columns, references } = resource
  const members = shownMembers(resource)
  const selected = members.flatMap(member => {
    if (typeof member === 'string') return [`${sql('owner', member, columns[member])} AS ${member}`]
    if ('text' in member) return [`${member.text === null ? 'NULL' : `'${member.text}'`} AS ${member.name}`]
    if ('counts' in member) {
      const { name } = member
      return COUNT_COLUMNS.map(column => `${sql(`"${name}"`, column, 'integer')} AS "${name}.${column}"`)
    }
    return objectColumns(member, sql)
  })
  const hidden = references.map(({ column }) => column).filter(column => !members.includes(column))
  const known = ['id', 'revision', ...hidden].map(column => `${sql('owner', column, 'integer')} AS ${column}`)
  return [...known, ...selected].join(', ')
}

/** SQL for the columns that a nested object shows, from its table under an alias. */
export function objectColumns<Row extends Values>(
  { name, columns }: NestedObject<Row>,
  sql: ColumnSql,
  source = `"${name}"`,
): string[] {
  return Object.entries(columns).map(([column, type]) => `${sql(source, column, type)} AS "${name}.${column}"`)
}

/** SQL for the columns of an item, from its table as `item`. */
export function selectedItemColumns({ columns }: NestedArray, sql: ColumnSql, prefix = ''): string {
  const selected = Object.entries(columns).map(
    ([column, type]) => `${sql('item', column, type)} AS "${prefix}${column}"`,
  )
  return [`${sql('item', 'id', 'integer')} AS "${prefix}id"`, ...selected].join(', ')
}

/** SQL that joins the rows of nested objects, and the counts of ratings. */
export function joins<Row extends Values>(resource: StoredResource<Row>, join: 'JOIN' | 'CROSS JOIN'): string {
  const nested = nestedObjects(resource).map(
    ({ name, table, referredBy }) => `${join} ${table} AS "${name}" ON "${name}".id = owner.${referredBy}`,
  )
  const ratings = ratingsIn(resource).map(
    ({ name, counts }) => `LEFT JOIN ${counts} AS "${name}" ON "${name}".product_id = owner.id`,
  )
  return [...nested, ...ratings].join(' ')
}

/** Whether a response shows something of the rows that refer to it. */
export function showsReferring<Row extends Values>(resource: StoredResource<Row>): boolean {
  return resource.array !== null || ratingsIn(resource).length > 0
}

function ratingsIn<Row extends Values>(resource: StoredResource<Row>) {
  return shownMembers(resource).filter(member => typeof member === 'object' && 'counts' in member)
}

function shownMembers<Row extends Values>({ members, furtherMembers, chosen }: StoredResource<Row>) {
  return chosen ? [...members, ...furtherMembers] : members
}

export function nestedObjects<Row extends Values>({ members }: StoredResource<Row>): NestedObject<Row>[] {
  return members.flatMap(member => (typeof member === 'object' && 'columns' in member ? [member] : []))
}

/**
 * Makes the function that turns a row and the first items of its array into a resource. If some of the items are not shown,
 * `items` has at least one of these.
 */
export function finding<Row extends Values>(
  resource: StoredResource<Row>,
): (row: FlatRow, items: readonly Item[]) => Found {
  const shape = shapeOf(resource)
  const owners = resource.references.map(({ column }) => column)
  return (row, items) => {
    let shown = items.length > NESTED_MAX ? items.slice(0, NESTED_MAX) : items
    let json = JSON.stringify(shape(row, shown))
    // Most resources are shorter as a whole, so their items need not be measured one by one.
    if (json.length > NESTED_MAX_CHARACTERS) {
      shown = lightItems(shown)
      json = JSON.stringify(shape(row, shown))
    }
    const last = shown.at(-1)
    const isCut = last !== undefined && shown.length < items.length
    const cut = isCut ? { shownItems: shown.length, lastId: last.id } : null
    return { id: row.id, revision: row.revision, ownerIds: owners.map(column => Number(row[column])), json, cut }
  }
}

/** The first items, up to the limit on their JSON. */
function lightItems(items: readonly Item[]): readonly Item[] {
  let characters = 0
  const heavy = items.findIndex((item, place) => {
    characters += JSON.stringify(item).length
    return place > 0 && characters > NESTED_MAX_CHARACTERS
  })
  return heavy === -1 ? items : items.slice(0, heavy)
}

/** Makes the function that turns a row and the items of its array into a response. */
function shapeOf<Row extends Values>(
  resource: StoredResource<Row>,
): (row: FlatRow, items: readonly Item[]) => Readonly<Record<string, unknown>> {
  const { members, array, chosen } = resource
  const isIdShown = chosen?.hasId ?? true
  // The names in a row are joined once, not for each row.
  const showMembers = members.map(showing)
  const showFurther = shownMembers(resource).slice(members.length).map(showing)
  return (row, items) => {
    const shown: Record<string, unknown> = isIdShown ? { id: row.id } : {}
    for (const show of showMembers) show(shown, row)
    if (array) shown[array.table] = items
    for (const show of showFurther) show(shown, row)
    return shown
  }
}

/** Makes the function that adds a member to a response. */
function showing<Row extends Values>(member: Member<Row>): (shown: Record<string, unknown>, row: FlatRow) => void {
  if (typeof member === 'string') {
    return (shown, row) => {
      shown[member] = row[member]
    }
  }
  const { name } = member
  if ('text' in member) {
    const { text } = member
    return shown => {
      shown[name] = text
    }
  }
  if ('counts' in member) {
    const counts = COUNT_COLUMNS.map(column => `${name}.${column}`)
    return (shown, row) => {
      shown[name] = ratingOf(counts.map(count => Number(row[count] ?? 0)))
    }
  }
  const { referredBy } = member
  const columns = Object.keys(member.columns).map(column => ({ column, from: `${name}.${column}` }))
  return (shown, row) => {
    const nested: Record<string, unknown> = { id: row[referredBy] }
    for (const { column, from } of columns) nested[column] = row[from]
    shown[name] = nested
  }
}

/** The columns that count for the weight in memory. */
export function longColumns(columns: Readonly<Record<string, ColumnType>>): string[] {
  return Object.keys(columns).filter(column => columns[column] === 'long text')
}
