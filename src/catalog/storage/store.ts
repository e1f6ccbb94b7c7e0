import type { Awaitable } from '../../awaitable.ts'
import type { Claim } from '../idempotency/keys.ts'
import type { Kept, Representation } from '../representation.ts'
import type { Listing } from './listing.ts'
import type { ResourceName, Values } from './resource.ts'
import type { ExpectedRevisions } from './revision.ts'

/** A row would reference a resource that does not exist. If there are two, this names the first. */
export interface Absent {
  readonly absent: ResourceName
}

/** A row has another revision than the client expects, so nothing was written. */
export type Changed = 'changed'

/** Selects the rows of a list: all, or those that reference these ids. */
export type Scope<Row extends Values> = { readonly [Column in keyof Row]?: number }

/** New values for a row. Columns without one keep theirs. */
export type Update<Row extends Values> = { readonly [Column in keyof Row]?: Row[Column] | undefined }

/** The storage of one kind of resource. `null` means that it does not exist. A write is on the disk when it resolves. */
export interface ResourceStore<Row extends Values> {
  find(id: number): Awaitable<Representation | null>
  exists(id: number): Promise<boolean>
  list(scope?: Scope<Row>): Listing
  /** With a claim, rejects with a `KeyTakenError` if its key is taken. If a reference is absent, nothing is kept. */
  create(row: Row, claim?: Claim): Promise<Representation | Absent>
  update(id: number, row: Update<Row>, expected: ExpectedRevisions): Promise<Representation | Absent | Changed | null>
  /** Resolves to the deleted resource. */
  delete(id: number, expected: ExpectedRevisions): Promise<Representation | Changed | null>
}

/** A resource that was read. */
export interface Found extends Representation {
  readonly id: number
  /** The ids of the rows that it shows as nested objects, in the order of the resource's members. */
  readonly nestedIds: readonly number[]
}

/** The resources of a page. */
export interface Read {
  /** The existing ones, in the order of the ids. */
  readonly found: readonly Found[]
  /** Number of ids that were looked up: all, or fewer if the resources are heavy; at least one. */
  readonly count: number
}

/**
 * Call it right before a read, and its result with the value that was read, if the value may be cached until it changes.
 * Changes in between count as changes after the read.
 */
export type Keep<Read = Found> = () => (read: Read) => void

/** The ids of a page, in ascending order. */
export interface IdPage {
  readonly ids: readonly number[]
  /** For each id, the resource if it was cached when the ids were read. Empty without a cache. */
  readonly cached: readonly (Found | undefined)[]
  /** For a page that is cached with all its resources. */
  readonly kept?: Kept
}

/** Selects ids of a list after the item `afterId`. */
export interface IdRange {
  readonly afterId: number
  readonly skip: number
  readonly limit: number
}

/** One kind of resource on one engine. `resourceStore` builds on it. */
export interface ResourceTable<Row extends Values>
  extends Pick<ResourceStore<Row>, 'exists' | 'create' | 'update' | 'delete'> {
  find(id: number, keep?: Keep): Awaitable<Found | null>
  read(page: IdPage, keep?: Keep): Awaitable<Read>
  /** Calls the result of `keep` at a moment at which listeners know of every change that was acknowledged before this call. */
  page(scope: Scope<Row>, range: IdRange, keep?: Keep<readonly number[]>): Awaitable<IdPage>
  /** See `Listing.scan`. */
  scan(scope: Scope<Row>, afterId: number, untilId: number): Awaitable<readonly Found[]>
  /** The highest id of a list; 0 for an empty one. */
  lastId(scope: Scope<Row>): Promise<number>
  /** Resolves when a stream may continue up to a last id that was found before. */
  canStream(): Promise<void>
}
