import { setImmediate as turn } from 'node:timers/promises'
import type { LoadedRows } from '../../database/change.ts'
import type { Table, TableWriter } from '../../database/table.ts'
import type { Claim } from '../storage/idempotency/keys.ts'
import type { TableName, Value } from '../storage/resource.ts'
import { type StoredRows, tableOf } from './table.ts'

/** Ids of rows that others refer to, in some 40 MiB. */
const FOUND_MAX = 1_000_000

/**
 * The indexes of a table are dropped, and created again at the end, after this many new rows and this share of the existing
 * ones. On SQLite, updating them takes 6 µs for each new row, creating them again 2 µs for each row of the table.
 */
const REBUILD_ROWS = 10_000
const REBUILD_SHARE = 0.4

/** A row to store. Without an `id` it gets the next one. */
export type NewRow = { readonly id?: number | undefined } & Readonly<Record<string, Value | undefined>>

/** Why a row cannot be stored. */
interface Misfit {
  /** `id`, or the column that references a missing row. */
  readonly column: string
  readonly reason: string
}

/** By the position of a row in the input. */
type Misfits = Map<number, Misfit>

interface Stored {
  /** In the order of the stored rows. */
  readonly ids: readonly number[]
  /** All other rows were stored. */
  readonly misfits: ReadonlyMap<number, Misfit>
}

/** Loads many rows in one transaction, which commits if `work` resolves and rolls back if it rejects. On either engine. */
export type Loader = <Result>(work: (load: Load, keep: KeepAnswer) => Promise<Result>) => Promise<Result>

/** Stores the answer to a request with an `Idempotency-Key`. Rejects with a `KeyTakenError`. */
type KeepAnswer = (claim: Claim, answer: string) => Promise<void>

interface LoadOptions {
  /** Whether an id must be above all so far: a client that pages by `after_id` would miss a lower one. */
  readonly takesOnlyNewIds: boolean
  /** Whether nobody else needs the indexes until the commit. */
  readonly mayDropIndexes: boolean
}

/** The rows that were loaded into the table of a resource. */
export type LoadedResources = LoadedRows & { readonly table: TableName }

/** A table that rows are stored in. */
interface Target {
  readonly table: Table
  /** The indexes are dropped after this many rows. */
  readonly indexedMax: number
  /** The highest id that the database neither drew nor was told of; 0 if there is none. */
  highestGiven: number
  /** The stored rows. */
  count: number
  firstId: number
  lastId: number
}

/** Stores many rows in one transaction, on either engine. */
export class Load {
  readonly #writer: TableWriter
  readonly #options: LoadOptions
  readonly #targets = new Map<TableName, Target>()
  /** By table, ids that rows have. None of these rows goes before the transaction ends. */
  readonly #found = new Map<TableName, Set<Value>>()

  constructor(writer: TableWriter, options: LoadOptions) {
    this.#writer = writer
    this.#options = options
  }

  /** Whether there are no rows of these resources. */
  areEmpty(resources: readonly StoredRows[]): Promise<boolean> {
    return this.#writer.areEmpty(resources.map(tableOf))
  }

  async store(resource: StoredRows, rows: readonly NewRow[]): Promise<Stored> {
    // Other work runs after each call.
    await turn()
    const target = await this.#targetOf(resource)
    const misfits = await this.#absentReferences(resource, rows)
    const ids = await this.#idsOf(resource, rows, target, misfits)
    if (target.count <= target.indexedMax && target.count + ids.length > target.indexedMax) {
      await this.#writer.dropIndexes([target.table])
    }
    const columns = Object.keys(resource.columns)
    const good = misfits.size === 0 ? rows : rows.filter((_, place) => !misfits.has(place))
    const stored = good.map((row, place) => {
      const values: Value[] = [ids[place] ?? null]
      for (const column of columns) values.push(row[column] ?? null)
      return values
    })
    await this.#writer.insert(target.table, [stored])
    target.count += ids.length
    for (const id of ids) {
      target.firstId = Math.min(target.firstId, id)
      target.lastId = Math.max(target.lastId, id)
    }
    return { ids, misfits }
  }

  /** Call it after the last row. `report` gets the number of indexes created so far. */
  async complete(report: (done: number, total: number) => void = () => {}): Promise<void> {
    for (const target of this.#targets.values()) await this.#continueIds(target)
    await this.#writer.complete(report)
  }

  /** The stored rows, as one event for each table. */
  get changes(): readonly LoadedResources[] {
    return [...this.#targets]
      .filter(([, { count }]) => count > 0)
      .map(([table, { count, firstId, lastId }]) => ({ table, count, firstId, lastId }))
  }

  async #targetOf(resource: StoredRows): Promise<Target> {
    const known = this.#targets.get(resource.table)
    if (known) return known
    const table = tableOf(resource)
    const last = await this.#writer.lastId(table)
    const indexedMax = this.#options.mayDropIndexes
      ? Math.max(REBUILD_ROWS, REBUILD_SHARE * last)
      : Number.POSITIVE_INFINITY
    // Another program may have chosen ids above those that were drawn.
    const target = { table, indexedMax, highestGiven: last, count: 0, firstId: Number.POSITIVE_INFINITY, lastId: 0 }
    this.#targets.set(resource.table, target)
    return target
  }

  async #absentReferences({ references }: StoredRows, rows: readonly NewRow[]): Promise<Misfits> {
    const misfits: Misfits = new Map()
    for (const { column, table, resource } of references) {
      const found = await this.#find(table, new Set(rows.map(row => row[column] ?? null)))
      for (const [place, row] of rows.entries()) {
        const id = row[column] ?? null
        if (id !== null && !found.has(id) && !misfits.has(place)) {
          misfits.set(place, { column, reason: `${resource} not found` })
        }
      }
    }
    return misfits
  }

  /** Returns the ids that rows are known to have, among them all of the wanted ones that exist. */
  async #find(name: TableName, wanted: ReadonlySet<Value>): Promise<ReadonlySet<Value>> {
    const found = this.#found.get(name) ?? new Set()
    if (found.size > FOUND_MAX) found.clear()
    this.#found.set(name, found)
    const unknown: number[] = []
    for (const id of wanted) if (typeof id === 'number' && !found.has(id)) unknown.push(id)
    if (unknown.length > 0) {
      for (const id of await this.#writer.existing({ name, key: 'id' }, unknown)) found.add(id)
    }
    return found
  }

  /** Adds rows with wrong ids to the misfits, and returns the ids of all that are none. */
  async #idsOf({ name }: StoredRows, rows: readonly NewRow[], target: Target, misfits: Misfits): Promise<number[]> {
    const { takesOnlyNewIds } = this.#options
    const reason = takesOnlyNewIds ? 'an id must be above every id so far' : `${name} with this id exists already`
    if (rows.every(({ id }) => id === undefined)) {
      await this.#continueIds(target)
      return this.#writer.nextIds(target.table, rows.length - misfits.size)
    }
    const good = [...rows.entries()].filter(([place]) => !misfits.has(place))
    const given = good.flatMap(([, { id }]) => id ?? [])
    let highest = await this.#writer.lastId(target.table)
    const taken = new Set<number>()
    if (!takesOnlyNewIds) {
      const old = given.filter(id => id <= highest)
      if (old.length > 0) for (const id of await this.#writer.existing(target.table, old)) taken.add(id)
      // Rows without an id must not take one that a later row brings.
      for (const id of given) highest = Math.max(highest, id)
    }
    const ids: number[] = []
    for (const [place, { id = highest + 1 }] of good) {
      const isWrong = takesOnlyNewIds ? id <= highest : taken.has(id)
      if (isWrong) {
        misfits.set(place, { column: 'id', reason })
        continue
      }
      taken.add(id)
      ids.push(id)
      highest = Math.max(highest, id)
    }
    target.highestGiven = highest
    return ids
  }

  /** Tells the database of the ids that it has not drawn. */
  async #continueIds(target: Target): Promise<void> {
    if (target.highestGiven > 0) await this.#writer.continueIds(target.table, target.highestGiven)
    target.highestGiven = 0
  }
}
