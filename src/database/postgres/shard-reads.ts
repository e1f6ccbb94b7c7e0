/** How many shards of Citus a read asks. */
type Shards = 'one' | 'several'

/** How often a table was read in one way. */
export interface ShardReads {
  readonly table: string
  readonly shards: Shards
  readonly number: number
}

/** Counts reads by the shards that they ask: a read on several shards costs as much as on each of them. */
export class ShardReadCounts {
  readonly #counts = new Map<string, ShardReads>()

  get all(): ShardReads[] {
    return [...this.#counts.values()]
  }

  count(table: string, shards: Shards): void {
    const key = `${shards} ${table}`
    this.#counts.set(key, { table, shards, number: (this.#counts.get(key)?.number ?? 0) + 1 })
  }
}
