import type { Family, Labels } from '../../metrics/family.ts'
import { added, type Distribution } from '../../metrics/histogram.ts'

/** Chooses samples; by default, all of a family. */
type Wanted = (labels: Labels) => boolean

const all: Wanted = () => true

/** The change of the metrics between two reads. */
export class Window {
  readonly #before: ReadonlyMap<string, Family>
  readonly #now: ReadonlyMap<string, Family>
  readonly #seconds: number

  constructor(before: readonly Family[], now: readonly Family[], seconds: number) {
    this.#before = byName(before)
    this.#now = byName(now)
    this.#seconds = seconds
  }

  has(name: string): boolean {
    return this.#now.has(name)
  }

  /** The sum of the samples; `null` if there is no such family. */
  value(name: string): number | null {
    return sumOf(this.#now.get(name), all)
  }

  /** The growth of a counter, or of the sum of a histogram, per second. */
  rate(name: string, wanted = all): number | null {
    const now = sumOf(this.#now.get(name), wanted)
    if (now === null) return null
    // Smaller than before if a process has died that was too busy to answer.
    return Math.max(0, now - (sumOf(this.#before.get(name), wanted) ?? 0)) / this.#seconds
  }

  /** The number of values that a histogram has got per second. */
  countRate(name: string, wanted = all): number | null {
    const grown = this.#growth(name, wanted)
    return grown && total(grown) / this.#seconds
  }

  /** The mean of the values that a histogram has got; `null` if there are none. */
  mean(name: string): number | null {
    const grown = this.#growth(name, all)
    const count = grown ? total(grown) : 0
    return grown && count > 0 ? grown.sum / count : null
  }

  /**
   * A quantile of those values; `null` if there are none. By linear interpolation within its bucket, as Prometheus does, except
   * in the first one, whose values may all be much smaller.
   */
  quantile(name: string, quantile: number): number | null {
    const grown = this.#growth(name, all)
    const rank = grown ? quantile * total(grown) : 0
    if (!grown || rank === 0) return null
    let below = 0
    for (const [place, count] of grown.counts.entries()) {
      if (below + count >= rank) {
        const from = grown.bounds[place - 1] ?? grown.bounds[0] ?? 0
        const to = grown.bounds[place] ?? from
        return from + (to - from) * ((rank - below) / count)
      }
      below += count
    }
    return null
  }

  /** The values that a histogram has got; `null` if there is no such family. */
  #growth(name: string, wanted: Wanted): Distribution | null {
    const now = distributionOf(this.#now.get(name), wanted)
    const before = distributionOf(this.#before.get(name), wanted)
    if (!now || !before) return now
    return {
      bounds: now.bounds,
      counts: now.counts.map((count, place) => Math.max(0, count - (before.counts[place] ?? 0))),
      sum: Math.max(0, now.sum - before.sum),
    }
  }
}

function byName(families: readonly Family[]): ReadonlyMap<string, Family> {
  return new Map(families.map(family => [family.name, family]))
}

function sumOf(family: Family | undefined, wanted: Wanted): number | null {
  if (!family) return null
  if (family.kind === 'histogram') return distributionOf(family, wanted)?.sum ?? 0
  return family.samples.filter(({ labels }) => wanted(labels)).reduce((sum, { value }) => sum + value, 0)
}

function distributionOf(family: Family | undefined, wanted: Wanted): Distribution | null {
  if (family?.kind !== 'histogram') return null
  const values = family.samples.filter(({ labels }) => wanted(labels)).map(({ value }) => value)
  return values.length === 0 ? { bounds: [], counts: [], sum: 0 } : values.reduce(added)
}

function total({ counts }: Distribution): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
