import type { Distribution } from './histogram.ts'

export type Labels = Readonly<Record<string, string>>

export interface Labelled<Value> {
  readonly labels: Labels
  readonly value: Value
}

export type Sample = Labelled<number>

interface Named {
  /** As in https://prometheus.io/docs/practices/naming/. */
  readonly name: string
  readonly help: string
}

/** Numbers with the same name, as they are at one moment. Plain data, so that a worker can send it to its supervisor. */
export type Family =
  | (Named & { readonly kind: 'counter'; readonly samples: readonly Sample[] })
  | (Named & {
      readonly kind: 'gauge'
      readonly samples: readonly Sample[]
      /** Combines the values of several processes. */
      readonly together: 'sum' | 'least' | 'greatest'
    })
  | (Named & { readonly kind: 'histogram'; readonly samples: readonly Labelled<Distribution>[] })

/** A number that only grows. */
export function counter(name: string, help: string, value: number | readonly Sample[]): Family {
  return { kind: 'counter', name, help, samples: samplesOf(value) }
}

/** A number that grows and shrinks. */
export function gauge(
  name: string,
  help: string,
  value: number | readonly Sample[],
  together: 'sum' | 'least' | 'greatest' = 'sum',
): Family {
  return { kind: 'gauge', name, help, samples: samplesOf(value), together }
}

export function histogram(name: string, help: string, value: Distribution | readonly Labelled<Distribution>[]): Family {
  const samples = 'bounds' in value ? [{ labels: {}, value }] : value
  return {
    kind: 'histogram',
    name,
    help,
    samples: samples.map(({ labels, value }) => ({ labels, value: copy(value) })),
  }
}

function samplesOf(value: number | readonly Sample[]): readonly Sample[] {
  return typeof value === 'number' ? [{ labels: {}, value }] : value
}

/** Copies the histograms, which go on counting. */
function copy({ bounds, counts, sum }: Distribution): Distribution {
  return { bounds, counts: [...counts], sum }
}
