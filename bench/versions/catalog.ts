import type { SeededDatabase } from '../catalog/bench.ts'
import { driveMeasured, warmUp } from '../catalog/measurement.ts'
import { service } from '../catalog/servers.ts'
import type { Workload } from '../catalog/workloads.ts'
import type { Measurement } from '../comparison.ts'
import { type PreparedLoad, prepareLoad } from '../load-generator.ts'
import type { BenchOptions } from '../options.ts'
import { startServer } from '../server-process.ts'
import type { Version } from '../stockroom.ts'
import { type Cost, inTurn, type Pair, type Row } from './turns.ts'

const TURN_SECONDS = 1

/** A version, and the database that it has seeded. */
export interface Side {
  readonly version: Version
  readonly database: SeededDatabase
}

/** Adds a row for the CPU time of PostgreSQL's own processes. */
export async function compareWorkload(
  engine: string,
  sides: Pair<Side>,
  workload: Workload,
  directory: string,
  options: BenchOptions,
  interrupted: AbortSignal,
): Promise<Row[]> {
  const load = await prepareLoad(directory, workload)
  const turns: Pair<Measurement>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    turns.push(...(await compareOnce(sides, load, round, options, interrupted)))
  }
  const name = `${engine} ${workload.name}`
  const inDatabase = turns.map(([before, now]) => [costOfDatabase(before), costOfDatabase(now)] as const)
  const hasDatabase = turns.some(([before]) => before.databaseMicroseconds !== null)
  return [{ name, turns }, ...(hasDatabase ? [{ name: '  its database', turns: inDatabase }] : [])]
}

/** Starts both versions, then drives them in turn. */
async function compareOnce(
  [before, now]: Pair<Side>,
  load: PreparedLoad,
  round: number,
  { connections, seconds }: BenchOptions,
  interrupted: AbortSignal,
): Promise<Pair<Measurement>[]> {
  await using stack = new AsyncDisposableStack()
  const start = async ({ version, database }: Side) => {
    const copy = stack.use(await database.copy())
    const running = stack.use(await startServer(service(version).on(copy.address), interrupted))
    await warmUp(running, load, { connections, seconds, seed: 0 }, interrupted)
    return { running, copy }
  }
  const started = [await start(before), await start(now)] as const
  return await inTurn(started, seconds, ({ running, copy }, turn) => {
    const pressure = { connections, seconds: TURN_SECONDS, seed: round * seconds + turn }
    return driveMeasured(running, copy, load, pressure, interrupted)
  })
}

function costOfDatabase({ databaseMicroseconds }: Measurement): Cost {
  return { requestsPerSecond: null, processorMicroseconds: databaseMicroseconds }
}
