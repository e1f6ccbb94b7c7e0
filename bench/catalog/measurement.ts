import { errorMessage } from '../../src/program/error-message.ts'
import type { Measurement, Round } from '../comparison.ts'
import { drive, type PreparedLoad, type Pressure, prepareLoad } from '../load-generator.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Bench, DatabaseCopy } from './bench.ts'
import type { Contestant } from './servers.ts'
import { changes, createdBy, type Workload } from './workloads.ts'

/** How hard, and how long, each server is driven. */
export interface MeasuredPressure extends Pressure {
  /** Gives the runtime time to compile the hot code, and the caches time to fill. */
  readonly warmUpSeconds: number
}

export interface PreparedWorkload {
  readonly workload: Workload
  readonly load: PreparedLoad
  readonly meanwhile: PreparedLoad | null
}

/** Drives all servers with each workload. The order rotates from round to round, so that position favors nobody. */
export async function measureRound(
  bench: Bench,
  servers: readonly Contestant[],
  pressure: MeasuredPressure,
  measureOne = measure,
): Promise<Map<string, Round>> {
  const first = pressure.seed % servers.length
  const inTurn = [...servers.slice(first), ...servers.slice(0, first)]
  const round = new Map<string, Round>()
  for (const workload of bench.workloads) {
    const measurements = new Map<string, Measurement>()
    for (const server of inTurn) measurements.set(server.name, await measureOne(bench, server, workload, pressure))
    round.set(workload.name, measurements)
  }
  return round
}

/** Measures one freshly started server, with no other running, on its own copy of the database. */
export async function measure(
  bench: Bench,
  server: Contestant,
  workload: Workload,
  pressure: MeasuredPressure,
): Promise<Measurement> {
  const database = await bench.seeded(workload.rows)
  await using copy = await database.copy(changes(workload))
  const { answered, measurement } = await driveAlone(bench, server, workload, pressure, copy).catch(error => {
    throw new Error(`${server.name}, ${workload.name}: ${errorMessage(error)}`)
  })
  console.error(`${workload.name.padEnd(17)} ${server.name.padEnd(24)} ${Math.round(measurement.requestsPerSecond)}/s`)
  const table = createdBy(workload)
  if (table !== null && server.kind !== 'ceiling') {
    const stored = (await copy.count(table)) - workload.rows[table]
    if (stored < answered) throw new Error(`${server.name} answered ${answered} creates, but stored ${stored}`)
  }
  return measurement
}

async function driveAlone(
  { directory, interrupted }: Bench,
  server: Contestant,
  workload: Workload,
  pressure: MeasuredPressure,
  copy: DatabaseCopy,
): Promise<{ answered: number; measurement: Measurement }> {
  const prepared = await prepareWorkload(directory, workload)
  // The ceiling has nothing to look up, so it would run out of paths that nobody has asked for.
  const load = server.kind === 'ceiling' ? { ...prepared.load, once: false } : prepared.load
  await using running = await startServer(server.on(copy.address, workload), interrupted)
  const measured = driver(running, copy, { ...prepared, load }, interrupted)
  const warmedUp = await measured({ ...pressure, seconds: pressure.warmUpSeconds, seed: 0 })
  const measurement = await measured(pressure)
  return { answered: warmedUp.requests + measurement.requests, measurement }
}

export async function prepareWorkload(directory: string, workload: Workload): Promise<PreparedWorkload> {
  return {
    workload,
    load: await prepareLoad(directory, workload),
    meanwhile: workload.meanwhile ? await prepareLoad(directory, workload.meanwhile) : null,
  }
}

/** A disk that stalls for a whole drive says nothing about a server. */
const STALLS_MAX = 3

/** Returns a function that drives a running server with a workload. Paths that are requested once go on where the last drive ended. */
export function driver(
  running: RunningServer,
  database: Pick<DatabaseCopy, 'processorSeconds'>,
  { workload, load, meanwhile }: PreparedWorkload,
  interrupted: AbortSignal,
): (pressure: Pressure) => Promise<Measurement> {
  let sent = 0
  const once = async (given: Pressure): Promise<Measurement> => {
    const seconds = Math.min(given.seconds, workload.secondsMax ?? given.seconds)
    const pressure = { ...given, seconds, sent }
    const connections = meanwhile ? 1 : (workload.connections ?? given.connections)
    const processorTime = stopwatch(running.processorSeconds)
    const databaseTime = stopwatch(database.processorSeconds)
    const [figures, others] = await Promise.all([
      drive(running.address, load, { ...pressure, connections }, interrupted),
      meanwhile ? drive(running.address, meanwhile, pressure, interrupted) : null,
    ])
    // Each connection may have sent a request that was not answered in time.
    sent += figures.requests + 2 * connections
    const requests = figures.requests + (others?.requests ?? 0)
    const perRequest = (processorSeconds: number | null) => processorSeconds && (processorSeconds * 1e6) / requests
    return {
      ...figures,
      meanwhilePerSecond: others?.requestsPerSecond ?? null,
      processorMicroseconds: perRequest(processorTime()),
      databaseMicroseconds: perRequest(databaseTime()),
    }
  }
  return async pressure => {
    for (let stalls = 0; stalls < STALLS_MAX; stalls++) {
      const measurement = await once(pressure)
      if (measurement.requests > 0) return measurement
    }
    throw new Error(`nothing was answered in ${STALLS_MAX} times ${pressure.seconds} s`)
  }
}
