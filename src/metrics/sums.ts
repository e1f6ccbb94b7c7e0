import type { Family, Labelled } from './family.ts'
import { added } from './histogram.ts'

/** Combines the metrics of several processes: sums, except for a few gauges. */
export function sums(processes: readonly (readonly Family[])[]): Family[] {
  const byName = new Map<string, Family>()
  for (const family of processes.flat()) {
    const known = byName.get(family.name)
    byName.set(family.name, known ? together(known, family) : family)
  }
  return [...byName.values()]
}

/** The metrics that stay in the sums when a process ends: a counter that shrinks looks like a restart of the service. */
export function lasting(families: readonly Family[]): Family[] {
  return families.filter(({ kind }) => kind !== 'gauge')
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
  const byLabels = new Map<string, Labelled<Value>>()
  for (const sample of samples) {
    const key = JSON.stringify(sample.labels)
    const known = byLabels.get(key)
    byLabels.set(key, known ? { ...known, value: choose(known.value, sample.value) } : sample)
  }
  return [...byLabels.values()]
}
