import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { TableName } from './resource.ts'

/** Block n starts with the id n × 16,384. The triggers that count deleted rows contain this number, too. */
export const BLOCK_IDS = 16_384

/** Number of blocks counted in one write, which takes some milliseconds. */
const COUNTED_AT_ONCE = 16

/** A position in a list: `skip` items after the id `afterId`. */
export interface Place {
  readonly afterId: number
  readonly skip: number
}

/**
 * Finds a deep position in the list of all rows of a table without walking over every id before it, by the number of rows in
 * each block of ids, in `counted_blocks`. Blocks that are not counted yet are walked, and then counted in the background. So
 * creates cost nothing, and a list is correct even if no block was ever counted.
 *
 * Ids are assigned in ascending order and never reused, so a block below the highest id gets no new rows; an import with lower
 * ids discards the counts. Triggers subtract deleted rows. A block that is missing below a counted one is empty.
 */
export class SqlitePositions {
  readonly #database: SqliteDatabase
  readonly #countIds
  readonly #selectCounted
  readonly #selectUncounted
  readonly #insert
  #isCounting = false

  constructor(database: SqliteDatabase, table: TableName) {
    this.#database = database
    const ids = `FROM ${table} INDEXED BY ${table}_by_id WHERE id`
    this.#countIds = database.prepare<[first: number, end: number], { items: number }>(
      `SELECT count(*) AS items ${ids} >= ? AND id < ?`,
    )
    this.#selectCounted = database.prepare<[afterBlock: number], { block: number; items: number }>(
      `SELECT block, items FROM counted_blocks WHERE collection = '${table}' AND block > ? ORDER BY block`,
    )
    this.#selectUncounted = database.prepare<[], { first: number | null; last: number | null }>(
      `SELECT min(id) / ${BLOCK_IDS} AS first, (SELECT max(id) / ${BLOCK_IDS} FROM ${table}) AS last
      ${ids} >= (SELECT coalesce(max(block) + 1, 0) * ${BLOCK_IDS} FROM counted_blocks WHERE collection = '${table}')`,
    )
    this.#insert = database.prepare<[block: number, items: number]>(
      `INSERT INTO counted_blocks (collection, block, items) VALUES ('${table}', ?, ?)`,
    )
  }

  /** The same position with the smallest known `skip`. Call it within a snapshot. */
  near({ afterId, skip }: Place): Place {
    if (skip < BLOCK_IDS) return { afterId, skip }
    const block = Math.floor(afterId / BLOCK_IDS)
    let end = (block + 1) * BLOCK_IDS
    let left = skip - this.#count(afterId + 1, end)
    for (const counted of this.#selectCounted.iterate(block)) {
      if (counted.items > left) return { afterId: counted.block * BLOCK_IDS - 1, skip: left }
      left -= counted.items
      end = (counted.block + 1) * BLOCK_IDS
    }
    // The block of the highest id is never counted, so there may be one more.
    if (left >= 2 * BLOCK_IDS) void this.#countMore()
    return { afterId: end - 1, skip: left }
  }

  #count(first: number, end: number): number {
    return this.#countIds.get(first, end)?.items ?? 0
  }

  async #countMore(): Promise<void> {
    if (this.#isCounting) return
    this.#isCounting = true
    try {
      while (await this.#database.write(() => this.#countSome())) {
        // Each write counts a few, so that other writes run in between.
      }
    } catch {
      // The disk may be full or the file locked. The next deep read tries again.
    } finally {
      this.#isCounting = false
    }
  }

  /** Returns whether any block was counted. */
  #countSome(): boolean {
    const { first, last } = this.#selectUncounted.get() ?? {}
    if (typeof first !== 'number' || typeof last !== 'number' || first >= last) return false
    for (let block = first; block < Math.min(first + COUNTED_AT_ONCE, last); block += 1) {
      const items = this.#count(block * BLOCK_IDS, (block + 1) * BLOCK_IDS)
      if (items > 0) this.#insert.run(block, items)
    }
    return true
  }
}
