import type { Prepared } from '../../database/sqlite/connection.ts'
import type { SqliteTransaction } from '../../database/sqlite/database.ts'
import type { Representation } from '../representation.ts'
import { heavyRepresentation, PIECE_WEIGHT_MAX } from './heavy.ts'
import { CHUNK_WEIGHT_MAX } from './listing.ts'
import type { ColumnType, NestedArray, StoredResource, Values } from './resource.ts'
import { NESTED_MAX } from './resource.ts'
import {
  type FlatRow,
  type Item,
  joins,
  longColumns,
  nestedObjects,
  selectedColumns,
  selectedItemColumns,
  shapeOf,
} from './shape.ts'
import type { Found } from './store.ts'

/** The database, or a transaction on a connection of its own. */
export interface RowSource extends SqliteTransaction {
  snapshot<Result>(read: () => Result): Result
}

/** A longer text is not in a wide index, but read from the table. The migration has this number, too. */
const INDEXED_TEXT_MAX_BYTES = 300

interface Weighed extends Found {
  /** Number of characters held in memory. */
  readonly weight: number
}

/** A resource's representation without the revision, which its row has. */
type Shown = Omit<Representation, 'revision'>

/** Reads one kind of resource. Call its functions within a snapshot, or within the transaction of a write. */
interface SqliteReader {
  find(id: number): Weighed | null
  /** The representation of a row that was read or written in the same transaction. */
  represent(row: FlatRow): Weighed
  /** The same of a new row, to which none refers yet. */
  representNew(row: FlatRow): Weighed
}

/** Prepares the statements that read one kind of resource. */
export function sqliteReader<Row extends Values>(source: RowSource, resource: StoredResource<Row>): SqliteReader {
  const select = source.prepare<[id: number], FlatRow>(`
    SELECT ${selectedColumns(resource, column)} FROM ${resource.table} AS owner ${joins(resource, 'CROSS JOIN')}
    WHERE owner.id = ?`)
  const nested = nestedObjects(resource).map(({ referredBy }) => referredBy)
  const shape = shapeOf(resource)
  const alone = (row: FlatRow): Shown => ({ json: JSON.stringify(shape(row, [])), cutAfterId: null })
  const whole = resource.array ? withArray(source, resource, resource.array) : alone
  const found = (row: FlatRow, shown: Shown): Weighed => {
    const nestedIds = nested.map(name => Number(row[name]))
    return { ...shown, id: row.id, revision: row.revision, nestedIds, weight: shown.json.length }
  }
  return {
    find: id => {
      const row = select.get(id)
      return row && found(row, whole(row))
    },
    represent: row => found(row, whole(row)),
    representNew: row => found(row, alone(row)),
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

/** Turns a row into a representation, with as much of its array as may be held in memory at once. */
function withArray<Row extends Values>(
  source: RowSource,
  resource: StoredResource<Row>,
  array: NestedArray,
): (row: FlatRow) => Shown {
  const { table, key, index, isWide, columns } = array
  const ofOwner = `FROM ${table} AS item INDEXED BY ${index} WHERE ${key} = ? AND id > ? ORDER BY id LIMIT ?`
  const selectItems: Prepared<[ownerId: number, afterId: number, limit: number], Item> = source.prepare(
    `SELECT ${selectedItemColumns(array, isWide ? indexedColumn : column)} ${ofOwner}`,
  )
  const selectItem = source.prepare<[id: number], Item>(
    `SELECT ${selectedItemColumns(array, column)} FROM ${table} AS item WHERE id = ?`,
  )
  const selectIds = source.prepare<[ownerId: number, afterId: number, limit: number], { id: number }>(
    `SELECT id ${ofOwner}`,
  )
  const shape = shapeOf(resource)
  const long = longColumns(columns)
  const whole = (item: Item) =>
    isWide && long.some(name => item[name] === null) ? (selectItem.get(item.id) ?? item) : item
  const weightOf = (item: Item) => long.reduce((sum, name) => sum + String(item[name]).length, 0)

  /** All at once is faster, and a wide index has no long texts. */
  const rows = (...parameters: [ownerId: number, afterId: number, limit: number]) =>
    isWide ? selectItems.all(...parameters) : selectItems.iterate(...parameters)

  /** Up to `limit` items. `more` says that others follow or were too heavy. */
  const read = (ownerId: number, afterId: number, limit: number, weightMax = CHUNK_WEIGHT_MAX) => {
    const items: Item[] = []
    let weight = 0
    for (const indexed of rows(ownerId, afterId, limit + 1)) {
      if (items.length === limit || weight > weightMax) return { items, more: true }
      const item = whole(indexed)
      items.push(item)
      weight += weightOf(item)
    }
    return { items, more: false }
  }

  return row => {
    const { items, more } = read(row.id, 0, NESTED_MAX)
    const isCut = more && items.length === NESTED_MAX
    if (!more || isCut) {
      return { json: JSON.stringify(shape(row, items)), cutAfterId: isCut ? (items.at(-1)?.id ?? null) : null }
    }
    const ids = selectIds.all(row.id, 0, NESTED_MAX + 1).map(({ id }) => id)
    return heavyRepresentation(
      {
        emptyJson: JSON.stringify(shape(row, [])),
        ids: ids.slice(0, NESTED_MAX),
        items: items.map(listItemOf),
        cutAfterId: ids.length > NESTED_MAX ? (ids[NESTED_MAX - 1] ?? null) : null,
      },
      async (afterId, limit) =>
        source.snapshot(() => read(row.id, afterId, limit, PIECE_WEIGHT_MAX).items.map(listItemOf)),
    )
  }
}

function listItemOf(item: Item) {
  return { id: item.id, json: JSON.stringify(item) }
}
