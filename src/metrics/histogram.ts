/** Bounds for durations in seconds, from 0.1 ms to 10 s. */
export const SECONDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const

/** Bounds for the sizes of batches. */
export const COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024] as const

/** Counts of values by bucket: each holds the values up to its bound that are above the bound before. */
export interface Distribution {
  readonly bounds: readonly number[]
  /** One more than there are bounds, for the values above the last. */
  readonly counts: readonly number[]
  readonly sum: number
}

/** Counts values in buckets. Counting one takes about 10 ns. */
export class Histogram implements Distribution {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    let place = 0
    while (value > (this.bounds[place] ?? Number.POSITIVE_INFINITY)) place += 1
    this.counts[place] = (this.counts[place] ?? 0) + 1
    this.sum += value
  }
}

/** The bucket-wise sum; the bounds are the same. */
export function added(one: Distribution, other: Distribution): Distribution {
  return {
    bounds: one.bounds,
    counts: one.counts.map((count, place) => count + (other.counts[place] ?? 0)),
    sum: one.sum + other.sum,
  }
}
