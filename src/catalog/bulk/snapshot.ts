import type { Value } from '../storage/resource.ts'
import type { StoredRows } from './loader.ts'

export type Row = Readonly<Record<string, Value>>

/** A consistent view of the whole catalog. */
export interface Snapshot {
  count(resource: StoredRows): Promise<number>
  /** All rows with their ids and columns, in the order of ids. */
  rows(resource: StoredRows): AsyncIterable<readonly Row[]>
}
