import { expect, setDefaultTimeout } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { campaign, HISTORY_VARIABLE } from '../harness/campaign.ts'
import { type Connection, openConnection } from '../harness/connection.ts'
import { withEachEngine } from '../harness/contract.ts'
import { type Engine, postgres } from '../harness/engines.ts'
import { pauseBackends } from '../harness/postgres/backends.ts'
import { Cluster } from '../harness/postgres/cluster.ts'
import { createDatabase } from '../harness/postgres/database.ts'
import { PostgresServer } from '../harness/postgres/server.ts'
import { ednHistory } from './edn.ts'
import { feedViolations } from './feed.ts'
import { Process } from './process.ts'
import { followerViolations, listViolations, registerViolations } from './violations.ts'
import { type Observations, Workload } from './workload.ts'

setDefaultTimeout(120_000)

const ROUND_MS = 300
const PROCESSES = 2

/** The name of the process that is killed, for PostgreSQL. */
const KILLED = 'killed'

/** For how long the database receives writes of a process without doing them, before that is killed. */
const PAUSED_MS = 20

/** When a process is killed. */
const KILLED_AFTER_MS = 150
const WORKERS_KILLED = 2

/** A worker is stopped for a time that its supervisor bears, and then for good, each at any moment of some length. */
const WORKER_TIMEOUT_SECONDS = 2
const PAUSED_WORKER_MS = 300
const HUNG_AFTER_MAX_MS = 250
/** Connections that are open before a worker hangs: so many that each worker has some. */
const LASTING_CONNECTIONS = 24
const LASTING_PAUSE_MS = 100

/** The standby becomes the primary, and the other way round. */
const SWITCHOVERS = 2
const SWITCHED_AFTER_MS = 150
/** Most of such a round, there is no primary. */
const SWITCHED_OPERATIONS_MIN = 3

/**
 * In `npm test`, clients pause while something is disturbed: that takes seconds, in which they need not fill the machine.
 * Otherwise each asks as fast as it is answered.
 */
const PAUSE_MAX_MS = 30

/** Enough to show that a round did something, even on a busy machine. */
const OPERATIONS_MIN = 5

withEachEngine('consistency', engine => {
  campaign(
    `clients of two processes on ${engine.name} see one store: nothing stale, nothing missed`,
    async ({ rounds }) => {
      for (const round of rounds(1)) {
        const observed = await observe(engine, `${engine.name}-${round}`, { start: startProcesses })
        expect(observed.failures.slice(0, 5)).toEqual([])
      }
    },
  )

  campaign(
    `clients of two processes on ${engine.name} see one store, though one is killed and comes back`,
    async ({ rounds, size }) => {
      for (const round of rounds(1)) {
        const disturb = async (processes: readonly Process[]) => {
          await Bun.sleep(KILLED_AFTER_MS)
          await processes.at(-1)?.killAndStartAgain()
        }
        const name = `${engine.name}-killed-${round}`
        await observe(engine, name, { start: startProcesses, disturb, pauseMaxMs: size(PAUSE_MAX_MS, 0) })
      }
    },
  )

  // On SQLite, nobody does the writes of a dead process.
  if (engine === postgres) {
    campaign(
      `clients of two processes on ${engine.name} see one store, though the last writes of a killed one are done late`,
      async ({ rounds, size }) => {
        for (const round of rounds(1)) {
          const disturb = async (processes: readonly Process[], databaseUrl: string) => {
            await Bun.sleep(KILLED_AFTER_MS)
            using paused = await pauseBackends(databaseUrl, KILLED)
            expect(paused.count).toBeGreaterThan(0)
            await Bun.sleep(PAUSED_MS)
            await processes.at(-1)?.killAndStartAgain(() => paused[Symbol.dispose]())
          }
          const name = `${engine.name}-late-${round}`
          await observe(engine, name, { start: startNamed, disturb, pauseMaxMs: size(PAUSE_MAX_MS, 0) })
        }
      },
    )
  }

  if (engine === postgres) {
    campaign(
      `clients of two processes on ${engine.name} see one store, though the database crashes and comes back`,
      async ({ rounds, size }) => {
        // Without fsync: what a process has written survives its crash, if not that of the machine.
        await using server = await PostgresServer.start()
        const ofServer = { ...engine, freshDatabase: () => createDatabase(server.url()) }
        for (const round of rounds(1)) {
          const disturb = async () => {
            await Bun.sleep(KILLED_AFTER_MS)
            await server.restart('immediate')
          }
          const name = `${engine.name}-crashed-${round}`
          await observe(ofServer, name, { start: startProcesses, disturb, pauseMaxMs: size(PAUSE_MAX_MS, 0) })
        }
      },
    )
  }

  if (engine === postgres) {
    campaign(
      `clients of two processes on ${engine.name} see one store, though a standby takes the place of the primary, and back`,
      async ({ rounds, size }) => {
        await using cluster = await Cluster.start()
        const ofCluster = { ...engine, freshDatabase: () => cluster.createDatabase() }
        for (const round of rounds(1)) {
          const name = `${engine.name}-switchover-${round}`
          const disturb = async () => {
            for (let times = 0; times < SWITCHOVERS; times += 1) {
              await Bun.sleep(SWITCHED_AFTER_MS)
              await cluster.switchOver()
            }
          }
          const { failures } = await observe(ofCluster, name, {
            start: startWithAndWithoutCache,
            disturb,
            pauseMaxMs: size(PAUSE_MAX_MS, 0),
            operationsMin: SWITCHED_OPERATIONS_MIN,
          })
          // A stream that has begun is cut.
          expect(failures.filter(failure => /: (?!503 )\d{3} /.test(failure))).toEqual([])
        }
      },
    )
  }

  // Elsewhere a service has one worker.
  if (process.platform === 'linux') {
    campaign(
      `clients of two workers on ${engine.name} see one store, though workers are killed`,
      async ({ rounds, size }) => {
        for (const round of rounds(1)) {
          const disturb = async ([service]: readonly Process[]) => {
            for (let killed = 0; killed < WORKERS_KILLED; killed += 1) {
              await Bun.sleep(KILLED_AFTER_MS)
              service?.killWorker()
            }
          }
          const name = `${engine.name}-workers-${round}`
          await observe(engine, name, { start: startWorkers, disturb, pauseMaxMs: size(PAUSE_MAX_MS, 0) })
        }
      },
    )

    campaign(
      `clients of two workers on ${engine.name} see one store, though workers hang`,
      async ({ rounds, size }) => {
        for (const round of rounds(1)) {
          const name = `${engine.name}-hung-${round}`
          const disturb = async ([service]: readonly Process[]) => {
            if (!service) throw new Error('no service')
            await Bun.sleep(Math.random() * HUNG_AFTER_MAX_MS)
            await service.pauseWorker(PAUSED_WORKER_MS)
            await Bun.sleep(Math.random() * HUNG_AFTER_MAX_MS)
            expect(await lastingConnections(service, () => service.hangWorker())).toBeGreaterThan(0)
          }
          const options = { start: startImpatient, disturb, pauseMaxMs: size(PAUSE_MAX_MS, 0) }
          const { failures } = await observe(engine, name, options)
          expect(failures.filter(failure => /: 5(?!03 )\d\d /.test(failure))).toEqual([])
        }
      },
    )
  }
})

interface Round {
  readonly start: (databaseUrl: string) => Promise<Process>[]
  /** Interferes with the processes; by default, nothing does. */
  readonly disturb?: (processes: readonly Process[], databaseUrl: string) => Promise<void>
  readonly pauseMaxMs?: number
  readonly operationsMin?: number
}

/** One round on an empty database. */
async function observe(
  engine: Engine,
  name: string,
  { start, disturb = async () => {}, pauseMaxMs = 0, operationsMin = OPERATIONS_MIN }: Round,
): Promise<Observations> {
  await using database = await engine.freshDatabase()
  await using open = new AsyncDisposableStack()
  const processes: Process[] = []
  for (const starting of start(database.url)) processes.push(open.use(await starting))
  const observed = await Workload.run({
    addresses: Array.from({ length: PROCESSES }, (_, place) => () => addressAt(processes, place)),
    durationMs: ROUND_MS,
    pauseMaxMs,
    disturb: () => disturb(processes, database.url),
  })
  writeHistory(name, observed)
  expect(registerViolations(observed.registers)).toEqual([])
  expect(listViolations(observed.lists)).toEqual([])
  expect(observed.followed.flatMap(followerViolations)).toEqual([])
  expect(feedViolations(observed.feed, observed)).toEqual([])
  expect(observed.registers.reads.length).toBeGreaterThan(operationsMin)
  expect(observed.lists.appends.length).toBeGreaterThan(operationsMin)
  return observed
}

/** Two workers share one address. */
function addressAt(processes: readonly Process[], place: number): string {
  return processes[place % processes.length]?.address ?? ''
}

function startProcesses(databaseUrl: string): Promise<Process>[] {
  return Array.from({ length: PROCESSES }, () => Process.start(databaseUrl))
}

/** The last one has a name of its own at the database. */
function startNamed(databaseUrl: string): Promise<Process>[] {
  return [Process.start(databaseUrl), Process.start(`${databaseUrl}?application_name=${KILLED}`)]
}

function startWithAndWithoutCache(databaseUrl: string): Promise<Process>[] {
  return [Process.start(databaseUrl), Process.start(databaseUrl, ['--cache-bytes', '0'])]
}

/** One service. Each connection leads to one of its workers, and clients have many connections. */
function startWorkers(databaseUrl: string): Promise<Process>[] {
  return [Process.start(databaseUrl, ['--workers', String(PROCESSES)])]
}

/** A service whose hung workers are replaced soon. */
function startImpatient(databaseUrl: string): Promise<Process>[] {
  return [
    Process.start(databaseUrl, ['--workers', String(PROCESSES), '--worker-timeout', String(WORKER_TIMEOUT_SECONDS)]),
  ]
}

/** The number of connections on which all requests are answered before and during a disturbance. */
async function lastingConnections({ address }: Process, disturbed: () => Promise<void>): Promise<number> {
  await using open = new AsyncDisposableStack()
  const connections = await Promise.all(Array.from({ length: LASTING_CONNECTIONS }, () => openConnection(address)))
  for (const connection of connections) open.use(connection)
  const answer = (connection: Connection) => connection.get('/categories/?limit=1')
  await Promise.all(connections.map(answer))
  let isOver = false
  const lasting = connections.map(async connection => {
    while (!isOver) {
      await answer(connection)
      await Bun.sleep(LASTING_PAUSE_MS)
    }
  })
  const ended = Promise.allSettled(lasting)
  await disturbed()
  isOver = true
  return (await ended).filter(({ status }) => status === 'fulfilled').length
}

/** Writes the history for Elle into the folder that `npm run torture -- --history` names. */
function writeHistory(name: string, { lists }: Observations): void {
  const folder = process.env[HISTORY_VARIABLE]
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.edn`), ednHistory(lists))
}
