import type { StoredRows } from '../loading/loader.ts'
import type { Value } from '../storage/resource.ts'

export type Row = Readonly<Record<string, Value>>

/** The whole catalog as it is at one moment. */
export interface Snapshot {
  count(resource: StoredRows): Promise<number>
  /** The ids and columns of all rows, in the order of their ids. */
  rows(resource: StoredRows): AsyncIterable<readonly Row[]>
}
