import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { NO_MOVES } from './transactions.ts'

/** Limit on the places that are remembered. */
const PLACES_MAX = 100_000

/**
 * The products of reviews: they tell which shard has a review, but its own id does not. What is remembered is only a guess, because
 * any node may have moved a review since. So a statement that uses a guess looks for the review by both ids, and if it finds
 * nothing, the review has to be looked for on all shards.
 */
export class Places {
  readonly #find: (id: number) => Promise<number | null>
  #recent = new Map<number, number>()
  #older = new Map<number, number>()

  constructor(database: PostgresDatabase) {
    const batch = database.batch<number, number | null>(async ids => {
      const found = await database.transaction(async ask => {
        const [, rows] = await Promise.all([
          ask(`SELECT ${NO_MOVES}`),
          ask<{ id: number; product_id: number }>(
            'SELECT id::float8 AS id, product_id::float8 AS product_id FROM reviews WHERE id = ANY ($1::bigint[])',
            `{${[...new Set(ids)].join(',')}}`,
          ),
        ])
        return new Map(rows.map(({ id, product_id }) => [id, product_id]))
      })
      return ids.map(id => found.get(id) ?? null)
    })
    this.#find = id => batch.add(id)
  }

  /** The product that a review had; `null` if that is not known. */
  guess(id: number): number | null {
    return this.#recent.get(id) ?? this.#older.get(id) ?? null
  }

  remember(id: number, productId: number): void {
    this.#recent.set(id, productId)
    if (this.#recent.size < PLACES_MAX / 2) return
    this.#older = this.#recent
    this.#recent = new Map()
  }

  /** Looks for a review on all shards; `null` if it does not exist. */
  async find(id: number): Promise<number | null> {
    const productId = await this.#find(id)
    if (productId !== null) this.remember(id, productId)
    return productId
  }
}
