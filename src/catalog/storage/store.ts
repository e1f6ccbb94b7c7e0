import type { Awaitable } from '../../awaitable.ts'
import type { Kept, Representation } from '../representation.ts'
import type { Listing } from './listing.ts'
import type { ResourceName, Values } from './resource.ts'

/** What a row was to refer to, and does not exist; of two, the first of the resource's references. */
export interface Absent {
  readonly absent: ResourceName
}

/** Selects the rows of a list: all, or those that refer to these ids. */
export type Scope<Row extends Values> = { readonly [Column in keyof Row]?: number }

/** New values of a row; a column that is left out keeps its value. */
export type Update<Row extends Values> = { readonly [Column in keyof Row]?: Row[Column] | undefined }

/** All that the operations on one kind of resource need. `null` is what does not exist; a write is on the disk when it resolves. */
export interface ResourceStore<Row extends Values> {
  find(id: number): Awaitable<Representation | null>
  exists(id: number): Promise<boolean>
  list(scope?: Scope<Row>): Listing
  create(row: Row): Promise<Representation | Absent>
  update(id: number, row: Update<Row>): Promise<Representation | Absent | null>
  /** Resolves to what it was. */
  delete(id: number): Promise<Representation | null>
}

/** A resource that was read. */
export interface Found extends Representation {
  readonly id: number
  /** The ids of the rows that it shows as nested objects, in the order of the resource's members. */
  readonly nestedIds: readonly number[]
}

/** Resources of a page. */
export interface Read {
  /** Those that exist, in the order of the ids. */
  readonly found: readonly Found[]
  /** How many of the ids were looked for: all, or fewer if the resources are heavy; at least one. */
  readonly count: number
}

/** Takes each resource that may be kept until it changes, at the moment at which it is known to be current. */
export type Keep = (found: Found) => void

/** Ids of a list, in ascending order. */
export interface IdPage {
  readonly ids: readonly number[]
  /** Of each id in turn: the resource, if the cache had it when the ids were read. Empty without a cache. */
  readonly cached: readonly (Found | undefined)[]
  /** If it is in the cache with all its resources. */
  readonly kept?: Kept
}

/** Ids of a list that follow the item `afterId`. */
export interface IdRange {
  readonly afterId: number
  readonly skip: number
  readonly limit: number
}

/** What an engine does for one kind of resource; `resourceStore` makes the operations of it. */
export interface ResourceTable<Row extends Values>
  extends Pick<ResourceStore<Row>, 'exists' | 'create' | 'update' | 'delete'> {
  find(id: number, keep?: Keep): Awaitable<Found | null>
  read(page: IdPage, keep?: Keep): Awaitable<Read>
  /**
   * `seen` is called at the moment at which the ids are read, when listeners know of every change before it. Later that
   * would not be sure: the answer to an older statement may come in between.
   */
  page(scope: Scope<Row>, range: IdRange, seen?: (ids: readonly number[]) => void): Awaitable<IdPage>
  /** The highest id of a list; 0 for an empty one. */
  lastId(scope: Scope<Row>): Promise<number>
  /** Resolves when a stream may go on reading up to a last id that was found before. */
  canStream(): Promise<void>
}
