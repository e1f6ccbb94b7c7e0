const LOOKED_FOR_MAX = 256

/**
 * Which transactions a statement sees, from the text of `pg_current_snapshot()`: `xmin:xmax:xip,…`. Ids have 64 bits and never
 * repeat; as numbers they are exact. https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-SNAPSHOT
 */
export class Snapshot {
  /** All transactions from this one on are invisible. */
  readonly xmax: number
  /** The invisible ones below `xmax`. */
  readonly inProgress: ReadonlySet<number>
  /** The first transaction to look for later, unless one in progress takes so long that too many others would be found. */
  readonly first: number

  constructor(text: string) {
    const [xmin, xmax, inProgress] = text.split(':')
    this.xmax = Number(xmax)
    this.first = this.xmax - Number(xmin) > LOOKED_FOR_MAX ? this.xmax : Number(xmin)
    this.inProgress = new Set(inProgress ? inProgress.split(',').map(Number) : [])
  }

  /** Whether a transaction had ended, if it took place at all. */
  shows(transaction: number): boolean {
    return transaction < this.xmax && !this.inProgress.has(transaction)
  }

  /** The number of transactions that have ended since an earlier snapshot. */
  countSince(earlier: Snapshot): number {
    let count = Math.max(0, this.xmax - earlier.xmax)
    for (const transaction of this.inProgress) if (transaction >= earlier.xmax) count -= 1
    for (const transaction of earlier.inProgress) if (this.shows(transaction)) count += 1
    return count
  }
}
