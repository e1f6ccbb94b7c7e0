import type { Bench } from '../catalog/bench.ts'
import { driver, type PreparedWorkload, prepareWorkload } from '../catalog/measurement.ts'
import { pinned, service } from '../catalog/servers.ts'
import { changes, type Workload } from '../catalog/workloads.ts'
import { execute } from '../command.ts'
import type { Measurement } from '../comparison.ts'
import type { Pressure } from '../load-generator.ts'
import type { VersionsOptions } from '../options.ts'
import { startServer } from '../server-process.ts'
import { commandOf, type Version } from '../stockroom.ts'
import { type Cost, inTurn, type Pair, type Row } from './turns.ts'

const TURN_SECONDS = 1

/** A version, and the databases that it has seeded. */
export interface Side extends Pick<Bench, 'seeded'> {
  readonly version: Version
}

/** Adds a row for the CPU time of PostgreSQL's own processes. */
export async function compareWorkload(
  engine: string,
  sides: Pair<Side>,
  workload: Workload,
  directory: string,
  options: VersionsOptions,
  interrupted: AbortSignal,
): Promise<Row[]> {
  const prepared = await prepareWorkload(directory, workload)
  const turns: Pair<Measurement>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    turns.push(...(await compareOnce(sides, prepared, round, options, interrupted)))
  }
  const name = `${engine} ${workload.name}`
  const inDatabase = turns.map(([before, now]) => [costOfDatabase(before), costOfDatabase(now)] as const)
  const hasDatabase = turns.some(([before]) => before.databaseMicroseconds !== null)
  return [{ name, turns }, ...(hasDatabase ? [{ name: '  its database', turns: inDatabase }] : [])]
}

/** Starts both versions, then drives them in turn. */
async function compareOnce(
  [before, now]: Pair<Side>,
  prepared: PreparedWorkload,
  round: number,
  { connections, seconds, warmUpSeconds }: VersionsOptions,
  interrupted: AbortSignal,
): Promise<Pair<Measurement>[]> {
  await using stack = new AsyncDisposableStack()
  const { rows, secondsMax } = prepared.workload
  const start = async ({ version, seeded }: Side) => {
    const copy = stack.use(await (await seeded(rows)).copy(changes(prepared.workload)))
    const contestant = pinned(service(version))
    const running = stack.use(await startServer(contestant.on(copy.address), interrupted))
    const key = await keyFor(version, copy.address, interrupted)
    const measured = driver(running, copy, prepared, interrupted)
    await measured({ connections, seconds: warmUpSeconds, seed: 0, pinned: true, key })
    return (pressure: Pressure) => measured({ ...pressure, key })
  }
  const started = [await start(before), await start(now)] as const
  return await inTurn(started, Math.min(seconds, secondsMax ?? seconds), (measured, turn) =>
    measured({ connections, seconds: TURN_SECONDS, seed: round * seconds + turn, pinned: true }),
  )
}

/** An access key, if the version's servers ask for one. */
async function keyFor(version: Version, database: string, interrupted: AbortSignal): Promise<string | undefined> {
  if (version.settings?.AUTH !== 'keys') return undefined
  // Rounds that only read share a database.
  const name = crypto.randomUUID()
  const creation = commandOf(version, 'key', 'create', name, '--scope', 'admin', '--database', database)
  return (await execute(creation, version.root, interrupted)).trim()
}

function costOfDatabase({ databaseMicroseconds }: Measurement): Cost {
  return { requestsPerSecond: null, processorMicroseconds: databaseMicroseconds }
}
