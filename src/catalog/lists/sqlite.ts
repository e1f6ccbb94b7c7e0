import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { Resource } from '../operation.ts'
import type { Remembered } from '../remembered.ts'
import { CHUNK_MAX_CHARACTERS, type Chunk, type ListItem, type Listing } from './listing.ts'

/** An item that was read for a list. */
export interface ReadItem extends ListItem {
  /** Whether its embedded array is known to show all there is. */
  readonly whole: boolean
}

/** A listing's statements, each about the same collection. */
interface ListingStatements {
  /** Up to `limit` ids greater than `afterId`, `offset` passed over; from an index that holds ids alone. */
  readonly ids: (afterId: number, limit: number, offset: number) => readonly { readonly id: number }[]
  readonly lastId: () => number | null
  readonly chunk: (afterId: number, untilId: number, limit: number) => Chunk<ReadItem>
  readonly absentParent: () => Resource | null
}

export function sqliteListing(
  database: SqliteDatabase,
  remembered: Remembered,
  statements: ListingStatements,
): Listing {
  const start = (afterId: number, skip: number) =>
    skip === 0 ? afterId : (statements.ids(afterId, 1, skip - 1)[0]?.id ?? Number.MAX_SAFE_INTEGER)

  const recall = (afterId: number, limit: number, skip: number): Chunk<ListItem> | undefined => {
    if (remembered.isEmpty()) return undefined
    const ids = statements.ids(afterId, limit + 1, skip)
    const items = remembered.getAll(ids.slice(0, limit).map(({ id }) => id))
    return items && { items, more: ids.length > limit }
  }

  const read = (afterId: number, untilId: number, limit: number): Chunk<ListItem> => {
    const chunk = statements.chunk(afterId, untilId, limit)
    for (const item of chunk.items) {
      if (item.whole) remembered.keep(item.id, { json: item.json, cutAfterId: null })
    }
    return chunk
  }

  return {
    read: async ({ afterId, untilId, limit, skip }) =>
      database.snapshot(() => {
        // What streams on has a last id, and is too long to be remembered.
        const recalled = untilId === Number.MAX_SAFE_INTEGER ? recall(afterId, limit, skip) : undefined
        return recalled ?? read(start(afterId, skip), untilId, limit)
      }),
    end: async range =>
      database.snapshot(() => {
        const [last, next] = statements.ids(start(range.afterId, range.skip), 2, range.limit - 1)
        return last ? { lastId: last.id, more: next !== undefined } : { lastId: statements.lastId() ?? 0, more: false }
      }),
    absentParent: async () => database.snapshot(statements.absentParent),
  }
}

/** What a listing of all rows asks of their table, which has an index of its ids alone. */
export function allRows(
  database: SqliteDatabase,
  table: 'categories' | 'products' | 'users',
): Omit<ListingStatements, 'chunk'> {
  const selectIds = database.prepare<[afterId: number, limit: number, offset: number], { id: number }>(
    `SELECT id FROM ${table} INDEXED BY ${table}_by_id WHERE id > ? ORDER BY id LIMIT ? OFFSET ?`,
  )
  const selectLastId = database.prepare<[], { id: number | null }>(`SELECT max(id) AS id FROM ${table}`)
  return {
    ids: (afterId, limit, offset) => selectIds.all(afterId, limit, offset),
    lastId: () => selectLastId.get()?.id ?? null,
    absentParent: () => null,
  }
}

/** Up to `limit` rows out of a statement that was asked for one more, which tells whether the listing goes on. */
export function chunkOf<Row>(
  rows: Iterable<Row>,
  limit: number,
  weight: (row: Row) => number,
  charactersMax = CHUNK_MAX_CHARACTERS,
): Chunk<Row> {
  const items: Row[] = []
  let characters = 0
  for (const row of rows) {
    if (items.length === limit || characters > charactersMax) return { items, more: true }
    items.push(row)
    characters += weight(row)
  }
  return { items, more: false }
}
