export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = (sorted.length - 1) / 2
  const low = sorted[Math.floor(middle)]
  const high = sorted[Math.ceil(middle)]
  if (low === undefined || high === undefined) throw new RangeError('the median of nothing')
  return (low + high) / 2
}
