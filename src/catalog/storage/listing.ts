import type { Awaitable } from '../../awaitable.ts'
import type { Kept } from '../representation.ts'
import type { ResourceName } from './resource.ts'

/**
 * Text that is held in memory at once for one answer, about as much as one request may bring. A chunk of heavy items has
 * fewer of them, and a heavier resource is read in several pieces.
 */
export const CHUNK_MAX_CHARACTERS = 1_048_576

/** A part of a listing, in ascending order of id. */
export interface Range {
  /** Only ids greater than this. */
  readonly afterId: number
  /** Only ids up to this one. */
  readonly untilId: number
  /** How many items to pass over first, without reading their contents. */
  readonly skip: number
  readonly limit: number
}

/** An item as it stands in a list. */
export interface ListItem {
  readonly id: number
  readonly json: string
  /** As of a `Representation`. */
  readonly rest?: () => AsyncIterable<string>
}

/** Items of a range from its beginning. */
export interface Chunk<Item> {
  /** As many as the limit, or fewer where they are heavy; at least one if there is any. */
  readonly items: readonly Item[]
  /** Whether the listing goes on after the last of them, in the range or beyond its limit. */
  readonly more: boolean
  /** Whether the range's limit is used up; items that were deleted meanwhile count. */
  readonly isComplete: boolean
  /** The id of the last item that was looked for, even if it was deleted meanwhile; 0 if there was none. */
  readonly lastId: number
  /** If the cache has all of it. */
  readonly kept?: Kept | undefined
}

/** Where a list of a given length ends. */
export interface ListEnd {
  /** The id of its last item; 0 when it has none. */
  readonly lastId: number
  /** Whether the listing goes on after it. */
  readonly more: boolean
}

/** All items of a collection, or of a part of it such as one product's reviews, to be read in pieces. */
export interface Listing {
  read(range: Range): Awaitable<Chunk<ListItem>>
  /** Finds the end of a list of up to `limit` items without reading them. */
  end(range: Range): Promise<ListEnd>
  /** Of a listing in which nothing was found: the parent that does not exist, which is why; else null. */
  absentParent(): Promise<ResourceName | null>
}
