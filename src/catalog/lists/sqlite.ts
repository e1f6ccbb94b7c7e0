import type { SqliteDatabase } from '../../database/sqlite.ts'
import type { Resource } from '../operation.ts'
import type { Chunk, Listing } from './listing.ts'

/** Text that a chunk may hold; where items are heavier, the chunk has fewer of them. */
export const CHUNK_MAX_CHARACTERS = 4_194_304

/** A listing's statements, each about the same collection. */
interface ListingStatements<Item> {
  /** Up to two ids greater than `afterId`, `offset` passed over; from an index that holds ids alone. */
  readonly ids: (afterId: number, offset: number) => readonly { readonly id: number }[]
  readonly lastId: () => number | null
  readonly chunk: (afterId: number, untilId: number, limit: number) => Chunk<Item>
  readonly absentParent: () => Resource | null
}

export function sqliteListing<Item extends { readonly id: number }>(
  database: SqliteDatabase,
  statements: ListingStatements<Item>,
): Listing<Item> {
  const start = (afterId: number, skip: number) =>
    skip === 0 ? afterId : (statements.ids(afterId, skip - 1)[0]?.id ?? Number.MAX_SAFE_INTEGER)
  return {
    read: async range =>
      database.snapshot(() => statements.chunk(start(range.afterId, range.skip), range.untilId, range.limit)),
    end: async range =>
      database.snapshot(() => {
        const [last, next] = statements.ids(start(range.afterId, range.skip), range.limit - 1)
        return last ? { lastId: last.id, more: next !== undefined } : { lastId: statements.lastId() ?? 0, more: false }
      }),
    absentParent: async () => database.snapshot(statements.absentParent),
  }
}

/** Up to `limit` rows out of a statement that was asked for one more, which tells whether the listing goes on. */
export function chunkOf<Row>(rows: Iterable<Row>, limit: number, weight: (row: Row) => number): Chunk<Row> {
  const items: Row[] = []
  let characters = 0
  for (const row of rows) {
    if (items.length === limit || characters > CHUNK_MAX_CHARACTERS) return { items, more: true }
    items.push(row)
    characters += weight(row)
  }
  return { items, more: false }
}
