import type { LoadedRows } from '../../database/change.ts'
import type { Stored, StoredRows } from './loader.ts'

/** Sums up what one transaction has loaded, as one event for each table. */
export class LoadedIds {
  readonly #byTable = new Map<string, LoadedRows>()

  /** Returns what it was given. */
  add({ table }: StoredRows, stored: Stored): Stored {
    if (stored.ids.length === 0) return stored
    let { count, firstId, lastId } = this.#byTable.get(table) ?? { count: 0, firstId: Infinity, lastId: 0 }
    count += stored.ids.length
    for (const id of stored.ids) {
      if (id < firstId) firstId = id
      if (id > lastId) lastId = id
    }
    this.#byTable.set(table, { table, count, firstId, lastId })
    return stored
  }

  get changes(): readonly LoadedRows[] {
    return [...this.#byTable.values()]
  }
}
