import type { Measurement, Round } from '../comparison.ts'
import { median } from '../statistics.ts'
import type { Table } from '../table.ts'
import { type Contestant, SERVICE } from './servers.ts'
import type { Workload } from './workloads.ts'

/** One row for each workload: the service beside the best peer of each round, the native rival and the ceiling. */
export function overviewTable(
  workloads: readonly Workload[],
  others: readonly Contestant[],
  rounds: readonly ReadonlyMap<string, Round>[],
): Table {
  const [peers, natives, ceilings] = (['peer', 'native', 'ceiling'] as const).map(kind =>
    others.filter(server => server.kind === kind).map(({ name }) => name),
  )
  const known = workloads.filter(({ name }) => rounds.some(round => round.get(name)?.has(SERVICE.name)))
  const rows = known.map(workload => {
    const measured = rounds.flatMap(round => round.get(workload.name) ?? [])
    const columns = [[SERVICE.name], peers, natives, ceilings].map(names =>
      measured.map(round => fastestOf(names ?? [], round)),
    )
    const [service = [], peer = [], native = [], ceiling = []] = columns
    return [
      workload.title,
      medianOf(service, figure => figure.requestsPerSecond)?.toLocaleString('en', { maximumFractionDigits: 0 }) ?? '',
      ratio(service, peer, value => `${value.toFixed(1)}×`),
      ratio(service, native, value => `${value.toFixed(1)}×`),
      ratio(service, ceiling, value => `${(value * 100).toFixed(0)} %`),
      ...columns.map(figures => medianOf(figures, figure => figure.processorMicroseconds)?.toFixed(1) ?? ''),
      medianOf(service, figure => figure.p50Milliseconds)?.toFixed(2) ?? '',
      medianOf(service, figure => figure.p99Milliseconds)?.toFixed(2) ?? '',
    ]
  })
  return {
    title: `All workloads, ${SERVICE.name} beside the others`,
    columns: [
      ...['work', 'requests/s', 'to best peer', 'to native', 'of ceiling'],
      ...['CPU µs', 'of best peer', 'of native', 'of ceiling', 'p50 ms', 'p99 ms'],
    ],
    rows,
    note: 'Ratios are of requests/s. CPU µs is the CPU time of the server for one request.',
  }
}

/** Null if none of the servers was measured. */
type PerRound = readonly (Measurement | null)[]

function fastestOf(names: readonly string[], round: Round): Measurement | null {
  const measured = names.flatMap(name => round.get(name) ?? [])
  return measured.toSorted((left, right) => right.requestsPerSecond - left.requestsPerSecond)[0] ?? null
}

/** The median of the ratios within each round. */
function ratio(service: PerRound, others: PerRound, shown: (value: number) => string): string {
  const ratios = service.flatMap((figures, round) => {
    const other = others[round]
    return figures && other ? [figures.requestsPerSecond / other.requestsPerSecond] : []
  })
  return ratios.length === 0 ? '' : shown(median(ratios))
}

function medianOf(rounds: PerRound, value: (figure: Measurement) => number | null): number | null {
  const known = rounds.flatMap(figure => (figure ? [value(figure)] : [])).filter(figure => figure !== null)
  return known.length === 0 ? null : median(known)
}
