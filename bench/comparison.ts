import type { Contestant } from './catalog/servers.ts'
import type { Workload } from './catalog/workloads.ts'
import type { Figures } from './load-generator.ts'
import { median } from './statistics.ts'
import type { Table } from './table.ts'

export interface Measurement extends Figures {
  /** The rate of what was sent meanwhile over other connections. */
  readonly meanwhilePerSecond: number | null
  /** The server's CPU time per request: unlike the rate, it hardly depends on how busy the machine is. */
  readonly processorMicroseconds: number | null
  /** The CPU time per request of the database's own processes. */
  readonly databaseMicroseconds: number | null
}

/** The measurements of one round, by server. */
export type Round = ReadonlyMap<string, Measurement>

/**
 * Shows the median of the ratios within each round, in which the servers ran one right after the other. So other load on the
 * machine matters little. Servers that are no peers come last.
 */
export function comparisonTable(
  { name, title }: Workload,
  { name: subject }: Contestant,
  servers: readonly Contestant[],
  measured: readonly ReadonlyMap<string, Round>[],
): Table {
  const rounds = measured.flatMap(round => round.get(name) ?? [])
  const peers = servers.filter(({ kind }) => kind === 'peer').map(({ name }) => name)
  const others = servers.filter(({ kind }) => kind !== 'peer').map(({ name }) => name)
  const rate = (round: Round, server: string) => measurementOf(round, server).requestsPerSecond
  const known = (figure: 'databaseMicroseconds' | 'meanwhilePerSecond') =>
    rounds.some(round => measurementOf(round, subject)[figure] !== null)
  const [hasDatabase, hasMeanwhile] = [known('databaseMicroseconds'), known('meanwhilePerSecond')]
  const rows = [subject, ...peers, ...others].map(server => {
    const rates = rounds.map(round => rate(round, server))
    const ratios = rounds.map(round => rate(round, subject) / rate(round, server))
    return [
      server,
      whole(median(rates)),
      `${whole(Math.min(...rates))}–${whole(Math.max(...rates))}`,
      ...(hasMeanwhile
        ? [whole(median(rounds.map(round => measurementOf(round, server).meanwhilePerSecond ?? 0)))]
        : []),
      median(rounds.map(round => measurementOf(round, server).p50Milliseconds)).toFixed(2),
      median(rounds.map(round => measurementOf(round, server).p99Milliseconds)).toFixed(2),
      processorTime(rounds.map(round => measurementOf(round, server).processorMicroseconds)),
      ...(hasDatabase ? [processorTime(rounds.map(round => measurementOf(round, server).databaseMicroseconds))] : []),
      server === subject ? '' : `${median(ratios).toFixed(2)}×`,
    ]
  })
  const database = hasDatabase ? ['database CPU µs'] : []
  const meanwhile = hasMeanwhile ? ['meanwhile/s'] : []
  const columns = [
    ...['server', 'requests/s', 'min–max', ...meanwhile, 'p50 ms', 'p99 ms', 'CPU µs', ...database],
    `${subject} to it`,
  ]
  if (peers.length === 0) return { title, columns, rows, note: '' }
  const ratios = rounds.map(round => rate(round, subject) / Math.max(...peers.map(peer => rate(round, peer))))
  return { title, columns, rows, note: `${subject} to the best peer of each round: ${ratioRange(ratios)}` }
}

function processorTime(microseconds: readonly (number | null)[]): string {
  const known = microseconds.filter(value => value !== null)
  return known.length === 0 ? '' : median(known).toFixed(1)
}

function ratioRange(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(2)}× (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`
}

function measurementOf(round: Round, server: string): Measurement {
  const measurement = round.get(server)
  if (!measurement) throw new Error(`${server} was not measured in each round`)
  return measurement
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en')
}
