import type { Awaitable } from '../../awaitable.ts'
import type { Claim } from './idempotency/keys.ts'
import type { Cursor, ListQuery } from './query.ts'
import type { ResourceName, StoredResource, Values } from './resource.ts'
import type { ExpectedRevisions } from './revision.ts'

/** One resource as a response body. */
export interface Representation {
  /** The resource as JSON. */
  readonly json: string
  /** `null` if the nested array is complete, or if there is none. */
  readonly cut: Cut | null
  /** See `revision.ts`. */
  readonly revision: number
}

/** The place at which a nested array was cut. */
export interface Cut {
  readonly shownItems: number
  /** The id of the last item shown. */
  readonly lastId: number
}

/** Nothing was written, because the resource or one that it would reference does not exist. This names the first. */
export interface Missing {
  readonly missing: ResourceName
}

/** Nothing was written, because the resource has another revision than the client expects. */
export interface Changed {
  readonly changed: ResourceName
}

/** The resource after its creation or update, or just before its deletion. */
export interface Done {
  readonly done: Representation
}

/** New values for a row. Columns without one keep theirs. */
export type Update<Row extends Values> = { readonly [Column in keyof Row]?: Row[Column] | undefined }

/** The storage of one kind of resource. A write is on the disk when it resolves. */
export interface ResourceStore<Row extends Values> extends ShownResources<Row> {
  /** The same resources with the chosen members only. `names` are words of `memberWords`. */
  showing(names: ReadonlySet<string>): ShownResources<Row>
  exists(id: number): Promise<boolean>
  /** With a claim, rejects with a `KeyTakenError` if its key is taken. If a reference is absent, nothing is kept. */
  create(row: Row, claim?: Claim): Promise<Done | Missing>
  update(id: number, row: Update<Row>, expected: ExpectedRevisions): Promise<Done | Missing | Changed>
  /** Resolves to the deleted resource. */
  delete(id: number, expected: ExpectedRevisions): Promise<Done | Missing | Changed>
}

/** The resources of one kind, alone and in lists, as a client sees them. */
export interface ShownResources<Row extends Values> extends Lists<Row> {
  /** `null` if it does not exist. */
  find(id: number): Awaitable<Representation | null>
}

/** The lists of one kind of resource. A short one is read as a page, a long one in pieces. */
export interface Lists<Row extends Values> extends RowReads<Row> {
  /** With `known`, the ids of the list were read before. */
  page(query: ListQuery<Row>, known?: IdPage): Awaitable<ListPage>
  /** The ids of a list up to its limit, for one that is read by ids in pieces. */
  ids(query: ListQuery<Row>): Awaitable<IdPage>
  /** The number of items in a list, or `most` if there are more. The limit of the query and where it begins do not matter. */
  count(query: ListQuery<Row>, most: number): Awaitable<number>
  /** Finds the end of a list in the order of ids, without reading its items. */
  end(query: ListQuery<Row>): Promise<ListEnd>
  /** For an empty list: a row that it refers to if that does not exist, else `null`. */
  absentParent(query: ListQuery<Row>): Promise<ResourceName | null>
}

/** The end of a list up to its limit. */
export interface ListEnd {
  /** The place of the last item, even if that has been deleted meanwhile; without one, `null` or a place before the list. */
  readonly last: Cursor | null
  /** Whether more follows beyond the limit. */
  readonly more: boolean
}

/** The resources of a list, unless they are heavy. While nothing in it changes, a cache returns the same object. */
export interface ListPage extends ListEnd {
  readonly items: readonly Representation[]
  /** Whether these are all items up to the limit, without those that were deleted meanwhile. */
  readonly isWhole: boolean
}

/** A piece of a long list: its first items, fewer if they are heavy. */
export interface Scanned {
  readonly items: readonly Representation[]
  /** The id to continue after; `null` at the end. */
  readonly last: number | null
}

/** A resource that was read. */
export interface Found extends Representation {
  readonly id: number
  /** The ids of the rows that it references, in the order of the resource's references; 0 for none. */
  readonly ownerIds: readonly number[]
}

/** Resources that were read by their ids. */
export interface Read {
  /** The existing ones, in the order of the ids. */
  readonly found: readonly Found[]
  /** Number of ids that were looked up: all, or only the first ones if the resources are heavy; at least one. */
  readonly count: number
}

/** The ids of a page, in the order of the list. */
export interface IdPage extends ListEnd {
  readonly ids: readonly number[]
  /**
   * The revisions that the rows had when they were selected by their values, or `null` for a row that the index did not know as it
   * was. `null` if they were not selected by values, or if it is not known.
   */
  readonly revisions: readonly (number | null)[] | null
}

/** Reads rows as resources with all of their members, or with some. Uses no cache, and leaves nothing in one. */
export interface RowReads<Row extends Values> {
  /** Reads the first of these, as many as are held in memory at once. */
  read(ids: readonly number[]): Awaitable<Read>
  /** Reads a piece of a long list in the order of ids. Call it after `end`, which finds the place to read until. */
  scan(query: ListQuery<Row>): Awaitable<Scanned>
}

/** Finds out which rows are in a list: from the rows themselves, or from the index. */
export interface IdLists<Row extends Values> {
  page(query: ListQuery<Row>): Awaitable<IdPage>
  /** Counts a list from its beginning, in the order of ids. */
  count(query: ListQuery<Row>, most: number): Awaitable<number>
}

/** The writes of one kind of resource on one engine. */
export type Writes<Row extends Values> = Pick<ResourceStore<Row>, 'create' | 'update' | 'delete'>

/** One kind of resource on one engine. `resourceStore` builds on it. */
export interface ResourceTable<Row extends Values> extends Writes<Row>, IdLists<Row> {
  /** Reads rows with the members that `resource` shows. */
  reads(resource: StoredResource<Row>): RowReads<Row>
  /** Resolves when pieces may be read until a place that was found before. */
  canScan(): Promise<void>
}
