import { errorMessage } from '../../src/error-message.ts'
import type { Measurement, Round } from '../comparison.ts'
import { drive, type Figures, type PreparedLoad, type Pressure, prepareLoad } from '../load-generator.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Bench, DatabaseCopy } from './bench.ts'
import type { Contestant } from './servers.ts'
import type { Workload } from './workloads.ts'

const WARM_UP_SECONDS = 2

/** Drives all servers with each workload. The order rotates from round to round, so that position favors nobody. */
export async function measureRound(
  bench: Bench,
  servers: readonly Contestant[],
  pressure: Pressure,
): Promise<Map<string, Round>> {
  const first = pressure.seed % servers.length
  const inTurn = [...servers.slice(first), ...servers.slice(0, first)]
  const round = new Map<string, Round>()
  for (const workload of bench.workloads) {
    const measurements = new Map<string, Measurement>()
    for (const server of inTurn) measurements.set(server.name, await measure(bench, server, workload, pressure))
    round.set(workload.name, measurements)
  }
  return round
}

/** Measures one freshly started server, with no other running, on its own copy of the database. */
async function measure(bench: Bench, server: Contestant, workload: Workload, pressure: Pressure): Promise<Measurement> {
  await using copy = await bench.database.copy()
  const { answered, measurement } = await driveAlone(bench, server, workload, pressure, copy).catch(error => {
    throw new Error(`${server.name}, ${workload.name}: ${errorMessage(error)}`)
  })
  console.error(`${workload.name.padEnd(8)} ${server.name.padEnd(24)} ${Math.round(measurement.requestsPerSecond)}/s`)
  if (workload.method === 'POST' && server.kind !== 'ceiling') {
    const stored = (await copy.countProducts()) - bench.database.productIds.length
    if (stored < answered) throw new Error(`${server.name} answered ${answered} creates, but stored ${stored}`)
  }
  return measurement
}

async function driveAlone(
  { directory, interrupted }: Bench,
  server: Contestant,
  workload: Workload,
  pressure: Pressure,
  copy: DatabaseCopy,
): Promise<{ answered: number; measurement: Measurement }> {
  const load = await prepareLoad(directory, workload)
  await using running = await startServer(server.on(copy.address), interrupted)
  const warmedUp = await warmUp(running, load, pressure, interrupted)
  const measurement = await driveMeasured(running, copy, load, pressure, interrupted)
  return { answered: warmedUp.requests + measurement.requests, measurement }
}

/** Gives the runtime time to compile the hot code, and the caches time to fill. */
export function warmUp(
  { address }: RunningServer,
  load: PreparedLoad,
  pressure: Pressure,
  interrupted: AbortSignal,
): Promise<Figures> {
  return drive(address, load, { ...pressure, seconds: WARM_UP_SECONDS, seed: 0 }, interrupted)
}

export async function driveMeasured(
  running: RunningServer,
  database: Pick<DatabaseCopy, 'processorSeconds'>,
  load: PreparedLoad,
  pressure: Pressure,
  interrupted: AbortSignal,
): Promise<Measurement> {
  const processorTime = stopwatch(running.processorSeconds)
  const databaseTime = stopwatch(database.processorSeconds)
  const figures = await drive(running.address, load, pressure, interrupted)
  const perRequest = (seconds: number | null) => seconds && (seconds * 1e6) / figures.requests
  return {
    ...figures,
    processorMicroseconds: perRequest(processorTime()),
    databaseMicroseconds: perRequest(databaseTime()),
  }
}
