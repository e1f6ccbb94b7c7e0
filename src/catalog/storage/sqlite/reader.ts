import type { SqliteTransaction } from '../../../database/sqlite/database.ts'
import type { ColumnType, NestedArray, StoredResource, Values } from '../resource.ts'
import { NESTED_MAX, NESTED_MAX_CHARACTERS } from '../resource.ts'
import { type FlatRow, finding, type Item, joins, longColumns, selectedColumns, selectedItemColumns } from '../shape.ts'

/** A longer text is not in a wide index, but read from the table. The migration has this number, too. */
const INDEXED_TEXT_MAX_BYTES = 300

/** Reads one kind of resource. Call its functions within a snapshot, or within the transaction of a write. */
export function sqliteReader<Row extends Values>(source: SqliteTransaction, resource: StoredResource<Row>) {
  const select = source.prepare<[id: number], FlatRow>(`
    SELECT ${selectedColumns(resource, column)} FROM ${resource.table} AS owner ${joins(resource, 'CROSS JOIN')}
    WHERE owner.id = ?`)
  const found = finding(resource)
  const itemsOf = resource.array ? firstItems(source, resource.array) : () => []
  /** The representation of a row that was read or written in the same transaction. */
  const represent = (row: FlatRow) => found(row, itemsOf(row.id))
  return {
    /** The columns that a response shows, and the ids of the rows that are referred to. */
    row: (id: number) => select.get(id),
    find: (id: number) => {
      const row = select.get(id)
      return row && represent(row)
    },
    represent,
    /** The representation of a new row, to which none refers yet. */
    representNew: (row: FlatRow) => found(row, []),
  }
}

export function column(source: string, name: string): string {
  return `${source}.${name}`
}

/** A column as a wide index has it: `null` for a long text. */
function indexedColumn(source: string, name: string, type: ColumnType): string {
  const sql = column(source, name)
  return type === 'long text' ? `iif(length(CAST(${sql} AS BLOB)) <= ${INDEXED_TEXT_MAX_BYTES}, ${sql}, NULL)` : sql
}

/** Reads the items that the array of an owner may show, and one more if there are more. */
function firstItems(source: SqliteTransaction, array: NestedArray): (ownerId: number) => readonly Item[] {
  const { table, key, index, isWide, columns } = array
  const selectItems = source.prepare<[ownerId: number], Item>(
    `SELECT ${selectedItemColumns(array, isWide ? indexedColumn : column)} FROM ${table} AS item INDEXED BY ${index}
    WHERE ${key} = ? ORDER BY id LIMIT ${NESTED_MAX + 1}`,
  )
  const selectItem = source.prepare<[id: number], Item>(
    `SELECT ${selectedItemColumns(array, column)} FROM ${table} AS item WHERE id = ?`,
  )
  const long = longColumns(columns)
  const whole = (item: Item) =>
    isWide && long.some(name => item[name] === null) ? (selectItem.get(item.id) ?? item) : item
  /** No more than the item has as JSON. */
  const weightOf = (item: Item) => long.reduce((sum, name) => sum + String(item[name]).length, 0)
  return ownerId => {
    const items: Item[] = []
    let weight = 0
    // All at once is faster, and a wide index has no long texts.
    for (const indexed of isWide ? selectItems.all(ownerId) : selectItems.iterate(ownerId)) {
      const item = whole(indexed)
      items.push(item)
      weight += weightOf(item)
      // The first item is always shown, and this one is not.
      if (weight > NESTED_MAX_CHARACTERS && items.length > 1) break
    }
    return items
  }
}
