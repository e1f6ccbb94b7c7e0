import { cpus } from 'node:os'
import type { Bench } from '../catalog/bench.ts'
import { driver, measure, prepareWorkload } from '../catalog/measurement.ts'
import type { Rows } from '../catalog/seed.ts'
import { BEST_PEER, type Contestant, NATIVE, SERVICE } from '../catalog/servers.ts'
import { changes, WORKLOADS, type Workload, workloadsOver } from '../catalog/workloads.ts'
import type { Measurement } from '../comparison.ts'
import { limitFamily } from '../limit.ts'
import { startServer } from '../server-process.ts'
import type { Line, Panel, Picture } from './chart.ts'
import type { KeptFigures } from './kept-figures.ts'

const CONNECTIONS = [1, 4, 16, 64, 256]

const PRODUCTS = [10_000, 100_000, 1_000_000]

const WORKERS = [1, 2, 4]

/** The share of a core that each worker may use, so that the workers are the bottleneck on a machine with few cores. */
const WORKER_SHARE = 0.2

/** Servers that the pictures show. */
const SHOWN = [SERVICE.name, BEST_PEER, NATIVE]

const SECONDS = 1
/** For a server that is driven with one number of connections after another: the first must not be the coldest. */
const LONG_WARM_UP_SECONDS = 3

const PRESSURE = { connections: 32, seconds: SECONDS, seed: 1, pinned: true, warmUpSeconds: 1 }

/** One thing that grows, and where its figures stand in the kept ones. */
export interface Growth {
  readonly name: string
  readonly across: string
  readonly steps: readonly number[]
  readonly workloads: readonly Workload[]
  readonly servers: readonly string[]
}

/** All but variants of others, and those with a database or connections of their own. */
const GROWING = WORKLOADS.filter(({ name }) => !['create-256', 'create-keyed', 'first-read', 'reader'].includes(name))

export const GROWTHS = {
  connections: {
    name: 'connections',
    across: 'connections',
    steps: CONNECTIONS,
    workloads: GROWING,
    servers: SHOWN,
  },
  data: {
    name: 'data',
    across: 'products',
    steps: PRODUCTS,
    workloads: GROWING.filter(({ name }) => !['reads-and-reviews', 'lists-and-updates'].includes(name)),
    servers: SHOWN,
  },
  cores: {
    name: 'cores',
    across: `workers with ${WORKER_SHARE * 100} % of a core each`,
    steps: WORKERS,
    workloads: WORKLOADS.filter(({ name }) => ['product', 'list-20', 'create'].includes(name)),
    servers: [SERVICE.name],
  },
} satisfies Record<string, Growth>

/** Drives each server with more and more connections, without a restart in between. */
export async function measureConnections(
  bench: Bench,
  servers: readonly Contestant[],
  figures: KeptFigures,
): Promise<void> {
  const growth = GROWTHS.connections
  for (const workload of growth.workloads) {
    for (const server of servers.filter(({ name }) => SHOWN.includes(name))) {
      const missing = growth.steps.filter(
        step => figures.measured(nameOf(growth, workload, server.name, step)) === null,
      )
      if (missing.length === 0) continue
      await using copy = await (await bench.seeded(workload.rows)).copy(changes(workload))
      await using running = await startServer(server.on(copy.address, workload), bench.interrupted)
      const measured = driver(running, copy, await prepareWorkload(bench.directory, workload), bench.interrupted)
      await measured({ ...PRESSURE, seconds: LONG_WARM_UP_SECONDS })
      for (const connections of missing) {
        const name = nameOf(growth, workload, server.name, connections)
        await figures.once(name, () => measured({ ...PRESSURE, connections }))
      }
      console.error(`connections: ${workload.name}, ${server.name}`)
    }
  }
}

/** Drives each server on more and more rows. */
export async function measureData(bench: Bench, servers: readonly Contestant[], figures: KeptFigures): Promise<void> {
  const growth = GROWTHS.data
  for (const products of growth.steps) {
    const rows = rowsOf(products)
    for (const workload of workloadsOver(rows).filter(({ name }) =>
      growth.workloads.some(other => other.name === name),
    )) {
      for (const server of servers.filter(({ name }) => SHOWN.includes(name))) {
        const name = nameOf(growth, workload, server.name, products)
        await figures.once(name, () => measure(bench, server, workload, PRESSURE))
      }
    }
  }
}

/** Drives the service with more and more workers. */
export async function measureCores(bench: Bench, figures: KeptFigures): Promise<void> {
  const growth = GROWTHS.cores
  for (const workload of growth.workloads) {
    for (const workers of growth.steps) {
      const name = nameOf(growth, workload, SERVICE.name, workers)
      await figures.once(name, () => measureWorkers(bench, workload, workers))
      console.error(`cores: ${workload.name}, ${workers} workers`)
    }
  }
}

async function measureWorkers(bench: Bench, workload: Workload, workers: number): Promise<Measurement> {
  await using copy = await (await bench.seeded(workload.rows)).copy(changes(workload))
  const server = SERVICE.on(copy.address)
  const command = [...server.command, '--workers', String(workers)]
  await using running = await startServer({ ...server, command }, bench.interrupted)
  const measured = driver(running, copy, await prepareWorkload(bench.directory, workload), bench.interrupted)
  const pressure = { ...PRESSURE, connections: 64, pinned: cpus().length > 1 }
  await measured(pressure)
  using _limited = limitFamily(running.processId, WORKER_SHARE)
  return await measured({ ...pressure, seconds: 2 * SECONDS })
}

/** A figure of all workloads of one growth, as far as it was measured. */
export function pictureOf(
  { name, across, steps, workloads, servers }: Growth,
  title: string,
  figure: (measurement: Measurement) => number | null,
  figures: KeptFigures,
): Picture {
  const panels = workloads.map((workload): Panel => {
    const lines = servers.map((server): Line => {
      const points = steps.flatMap(step => {
        const measurement = figures.measured(nameOf({ name }, workload, server, step))
        const y = measurement && figure(measurement)
        return y === null ? [] : [{ x: step, y }]
      })
      return { name: server, points }
    })
    return { title: workload.title, lines: lines.filter(({ points }) => points.length > 0) }
  })
  return { title, across, panels: panels.filter(({ lines }) => lines.length > 0) }
}

function nameOf({ name }: Pick<Growth, 'name'>, workload: Workload, server: string, step: number): string {
  return `${name} ${workload.name} ${server} ${step}`
}

/** At any size, each product has three reviews, and each category 100 products. */
function rowsOf(products: number): Rows {
  return { categories: products / 100, products, users: 200, reviews: 3 * products }
}
