import type { Family, Labelled } from './family.ts'
import { added } from './histogram.ts'

/** Combines the metrics of several processes: sums, except for a few gauges. */
export function sums(processes: readonly (readonly Family[])[]): Family[] {
  const byName = Map.groupBy(processes.flat(), ({ name }) => name)
  return [...byName.values()].map(families => families.reduce(together))
}

function together(one: Family, other: Family): Family {
  if (one.kind === 'histogram') {
    return other.kind === 'histogram' ? { ...one, samples: joined([...one.samples, ...other.samples], added) } : one
  }
  if (other.kind === 'histogram') return one
  const choose = one.kind === 'gauge' ? CHOICES[one.together] : CHOICES.sum
  return { ...one, samples: joined([...one.samples, ...other.samples], choose) }
}

const CHOICES = {
  sum: (one: number, other: number) => one + other,
  least: (one: number, other: number) => Math.min(one, other),
  greatest: (one: number, other: number) => Math.max(one, other),
}

/** Joins the values of equal labels. */
function joined<Value>(
  samples: readonly Labelled<Value>[],
  choose: (one: Value, other: Value) => Value,
): Labelled<Value>[] {
  const byLabels = Map.groupBy(samples, ({ labels }) => JSON.stringify(labels))
  return [...byLabels.values()].map(alike =>
    alike.reduce((one, other) => ({ labels: one.labels, value: choose(one.value, other.value) })),
  )
}
