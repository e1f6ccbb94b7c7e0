import { cpus } from 'node:os'
import type { Bench } from '../catalog/bench.ts'
import type { MeasuredPressure } from '../catalog/measurement.ts'
import { SERVICE } from '../catalog/servers.ts'
import { changes, createdBy, type Workload } from '../catalog/workloads.ts'
import { limitProcess } from '../limit.ts'
import { drive, prepareLoad } from '../load-generator.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import { median } from '../statistics.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Table } from '../table.ts'

/** The number of nodes on one database, and the share of a core that each may use. */
interface Arrangement {
  readonly name: string
  readonly nodes: number
  readonly share: number
}

/**
 * A node with a whole core soon keeps the machine busy, mostly with the database and the load generator. If each node gets
 * only a small share of a core, the nodes are the bottleneck, as they are on machines of their own.
 */
const ARRANGEMENTS: readonly Arrangement[] = [
  { name: 'one node', nodes: 1, share: 1 },
  { name: 'two nodes', nodes: 2, share: 1 },
  { name: 'one node of a fifth of a core', nodes: 1, share: 0.2 },
  { name: 'two nodes of a fifth of a core', nodes: 2, share: 0.2 },
]

interface NodesMeasurement {
  readonly requestsPerSecond: number
  /** CPU seconds per second of wall-clock time; null if the system does not tell. */
  readonly nodeCores: number | null
  readonly databaseCores: number | null
  readonly generatorCores: number
  /** Cores that nothing on the machine used. */
  readonly idleCores: number
}

/** By workload and arrangement. */
export type NodesRound = ReadonlyMap<string, ReadonlyMap<string, NodesMeasurement>>

/** Drives each arrangement with each workload: all nodes at once, each over the same number of connections. */
export async function measureNodes(bench: Bench, pressure: MeasuredPressure): Promise<NodesRound> {
  const round = new Map<string, Map<string, NodesMeasurement>>()
  for (const workload of bench.workloads) {
    const measurements = new Map<string, NodesMeasurement>()
    for (const arrangement of ARRANGEMENTS) {
      const measurement = await measure(bench, workload, arrangement, pressure)
      console.error(
        `${workload.name.padEnd(8)} ${arrangement.name.padEnd(32)} ${Math.round(measurement.requestsPerSecond)}/s`,
      )
      measurements.set(arrangement.name, measurement)
    }
    round.set(workload.name, measurements)
  }
  return round
}

export function nodesTable(workload: string, title: string, rounds: readonly NodesRound[]): Table {
  const measured = rounds.map(round => round.get(workload) ?? new Map<string, NodesMeasurement>())
  const medianOf = (name: string, value: (measurement: NodesMeasurement) => number | null) => {
    const known = measured
      .flatMap(round => round.get(name) ?? [])
      .map(value)
      .filter(figure => figure !== null)
    return known.length === 0 ? null : median(known)
  }
  const rows = ARRANGEMENTS.map(({ name, nodes, share }) => {
    const one = ARRANGEMENTS.find(other => other.share === share && other.nodes === 1)
    const ratios = measured.flatMap(round => {
      const [alone, together] = [round.get(one?.name ?? ''), round.get(name)]
      return alone && together ? [together.requestsPerSecond / alone.requestsPerSecond] : []
    })
    const cores = (value: (measurement: NodesMeasurement) => number | null) => medianOf(name, value)?.toFixed(2) ?? ''
    return [
      name,
      Math.round(medianOf(name, measurement => measurement.requestsPerSecond) ?? 0).toLocaleString('en'),
      medianOf(name, ({ nodeCores, requestsPerSecond }) => nodeCores && (nodeCores * 1e6) / requestsPerSecond)?.toFixed(
        1,
      ) ?? '',
      cores(measurement => measurement.nodeCores),
      cores(measurement => measurement.databaseCores),
      cores(measurement => measurement.generatorCores),
      cores(measurement => measurement.idleCores),
      nodes === 1 ? '' : `${median(ratios).toFixed(2)}×`,
    ]
  })
  const columns = ['nodes', 'requests/s', 'CPU µs', 'cores: nodes', 'database', 'wrk', 'idle', 'to one node']
  return { title: `Nodes. ${title}`, columns, rows, note: `of ${cpus().length} cores in all` }
}

async function measure(
  { directory, seeded, interrupted }: Bench,
  workload: Workload,
  { nodes, share }: Arrangement,
  pressure: MeasuredPressure,
): Promise<NodesMeasurement> {
  const load = await prepareLoad(directory, workload)
  await using copy = await (await seeded(workload.rows)).copy(changes(workload))
  await using running = new AsyncDisposableStack()
  const servers: RunningServer[] = []
  for (let node = 0; node < nodes; node++) {
    servers.push(running.use(await startServer(SERVICE.on(copy.address), interrupted)))
  }
  const driveAll = (seconds: number, seed: number) =>
    Promise.all(
      servers.map(({ address }, node) =>
        drive(address, load, { ...pressure, seconds, seed: nodes * seed + node }, interrupted),
      ),
    )
  const warmUp = await driveAll(pressure.warmUpSeconds, 0)
  using limits = new DisposableStack()
  if (share < 1)
    for (const [place, { processId }] of servers.entries()) limits.use(limitProcess(processId, share, place))

  const nodeTimes = servers.map(server => stopwatch(server.processorSeconds))
  const databaseTime = stopwatch(copy.processorSeconds)
  const idleTime = stopwatch(idleSeconds)
  const began = performance.now()
  const figures = await driveAll(pressure.seconds, pressure.seed)
  const seconds = (performance.now() - began) / 1e3
  const cores = (time: number | null) => (time === null ? null : time / seconds)
  const used = nodeTimes.map(time => time())
  const measurement = {
    requestsPerSecond: figures.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0),
    nodeCores: used.includes(null) ? null : cores(used.reduce((sum: number, time) => sum + (time ?? 0), 0)),
    databaseCores: cores(databaseTime()),
    generatorCores: figures.reduce((sum, { generatorSeconds }) => sum + generatorSeconds, 0) / seconds,
    idleCores: cores(idleTime()) ?? 0,
  }
  limits.dispose()

  const table = createdBy(workload)
  if (table !== null) {
    const answered = [...warmUp, ...figures].reduce((sum, { requests }) => sum + requests, 0)
    const stored = (await copy.count(table)) - workload.rows[table]
    if (stored < answered) throw new Error(`${nodes} nodes answered ${answered} creates, but stored ${stored}`)
  }
  return measurement
}

function idleSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1e3
}
