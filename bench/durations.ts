/** Response times of many requests of one kind, in milliseconds. */
export interface Durations {
  readonly count: number
  readonly median: number
  readonly p95: number
  readonly p99: number
  readonly worst: number
}

export function durationsOf(milliseconds: readonly number[]): Durations {
  const sorted = Float64Array.from(milliseconds).sort()
  return {
    count: sorted.length,
    median: at(sorted, 50),
    p95: at(sorted, 95),
    p99: at(sorted, 99),
    worst: at(sorted, 100),
  }
}

/** The least value that so many of 100 do not exceed. */
function at(sorted: Float64Array, percent: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN
}

/** Milliseconds with as many digits as tell something. */
export function shown(milliseconds: number): string {
  if (Number.isNaN(milliseconds)) return ''
  return milliseconds.toFixed(milliseconds < 10 ? 2 : milliseconds < 100 ? 1 : 0)
}
