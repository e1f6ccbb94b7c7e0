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
  const rows = workloads.map(workload => {
    const measured = rounds.flatMap(round => round.get(workload.name) ?? [])
    const service = measured.flatMap(round => round.get(SERVICE.name) ?? [])
    const peer = measured.flatMap(round => fastestOf(peers ?? [], round))
    const native = measured.flatMap(round => fastestOf(natives ?? [], round))
    const ceiling = measured.flatMap(round => fastestOf(ceilings ?? [], round))
    return [
      workload.title,
      medianOf(service, figure => figure.requestsPerSecond)?.toLocaleString('en', { maximumFractionDigits: 0 }) ?? '',
      ratio(service, peer, value => `${value.toFixed(1)}×`),
      ratio(service, native, value => `${value.toFixed(1)}×`),
      ratio(service, ceiling, value => `${(value * 100).toFixed(0)} %`),
      ...[service, peer, native, ceiling].map(
        figures => medianOf(figures, figure => figure.processorMicroseconds)?.toFixed(1) ?? '',
      ),
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

function fastestOf(names: readonly string[], round: Round): Measurement[] {
  const measured = names.flatMap(name => round.get(name) ?? [])
  return measured.toSorted((left, right) => right.requestsPerSecond - left.requestsPerSecond).slice(0, 1)
}

/** The median of the ratios within each round. */
function ratio(
  service: readonly Measurement[],
  others: readonly Measurement[],
  shown: (value: number) => string,
): string {
  const ratios = service.flatMap((figures, round) => {
    const other = others[round]
    return other ? [figures.requestsPerSecond / other.requestsPerSecond] : []
  })
  return ratios.length === 0 ? '' : shown(median(ratios))
}

function medianOf(figures: readonly Measurement[], value: (figure: Measurement) => number | null): number | null {
  const known = figures.map(value).filter(figure => figure !== null)
  return known.length === 0 ? null : median(known)
}
