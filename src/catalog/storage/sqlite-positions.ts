import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { TableName } from './resource.ts'

/** Block n has the ids from n × 16,384 on. The triggers that count deleted rows know this number, too. */
export const BLOCK_IDS = 16_384

/** Blocks that are counted in one write, which takes some milliseconds. */
const COUNTED_AT_ONCE = 16

/** A place in a list: after the id `afterId`, and then after `skip` further items. */
export interface Place {
  readonly afterId: number
  readonly skip: number
}

/**
 * Finds a deep place in the list of all rows of a table without walking over every id before it: `counted_blocks` tells how many
 * rows there are in each block of ids. Whatever was not counted yet is walked over, and counted in the background for the next
 * time. So creating costs nothing, and a list is right even if nobody ever counts.
 *
 * Ids are assigned in ascending order and never again, so a block below the highest id gets no new rows; an import, which may be
 * given lower ids, forgets what was counted. Triggers count the rows that are deleted. A block that is missing below a counted one is empty.
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

  /** The same place, with as little to skip as is known. Called within a snapshot. */
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
    // The block of the highest id, which is never counted, takes up to one more.
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
        // Each write counts some, so that others get their turn in between.
      }
    } catch {
      // The disk may be full, or the file locked: whoever reads that deep the next time tries again.
    } finally {
      this.#isCounting = false
    }
  }

  /** Returns whether there was anything to count. */
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
