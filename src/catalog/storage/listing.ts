import type { Awaitable } from '../../awaitable.ts'
import type { Kept } from '../representation.ts'
import type { ResourceName } from './resource.ts'

/**
 * Limit on the text held in memory for one chunk of a list, about as much as one request may send. A chunk of heavy items has
 * fewer of them, and at least one. The weight of a text is its length as the engine counts it: in UTF-16 code units on SQLite,
 * in bytes on PostgreSQL.
 */
export const CHUNK_WEIGHT_MAX = 1_048_576

/** Limit on the weight of the items of a long list read at a time on SQLite, unless a single one is heavier. */
export const SCAN_WEIGHT_MAX = 65_536

/** A part of a listing, in ascending order of id. */
export interface Range {
  /** Only ids greater than this. */
  readonly afterId: number
  /** Number of items to skip first, without reading them. */
  readonly skip: number
  readonly limit: number
}

/** An item of a list. */
export interface ListItem {
  readonly id: number
  readonly json: string
}

/** The first items of a range. */
export interface Chunk<Item> {
  /** Up to the limit, or fewer if they are heavy; at least one if there is any. */
  readonly items: readonly Item[]
  /** Whether the listing continues after the last one, in the range or beyond its limit. */
  readonly more: boolean
  /** Whether the range's limit is reached. Items that were deleted in the meantime count. */
  readonly isComplete: boolean
  /** The id of the last item that was looked up, even if it has been deleted; 0 if there was none. */
  readonly lastId: number
  /** For a chunk that is completely cached. */
  readonly kept?: Kept | undefined
}

/** The end of a list of a given length. */
export interface ListEnd {
  /** The id of its last item; 0 if it has none. */
  readonly lastId: number
  /** Whether the listing continues after it. */
  readonly more: boolean
}

/** All items of a collection or of a part of it, such as one product's reviews. It is read in pieces. */
export interface Listing {
  read(range: Range): Awaitable<Chunk<ListItem>>
  /**
   * Reads on in a long list: the first items after `afterId`, up to `untilId`; none if there are no more. It uses no cache, and
   * leaves nothing in one.
   */
  scan(afterId: number, untilId: number): Awaitable<readonly ListItem[]>
  /** Finds the end of a list of up to `limit` items without reading them. */
  end(range: Range): Promise<ListEnd>
  /** For an empty listing: the parent if it does not exist, else `null`. */
  absentParent(): Promise<ResourceName | null>
}
