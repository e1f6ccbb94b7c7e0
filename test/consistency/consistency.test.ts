import { expect, setDefaultTimeout } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { campaign, HISTORY_VARIABLE } from '../harness/campaign.ts'
import { withEachEngine } from '../harness/contract.ts'
import type { Engine } from '../harness/engines.ts'
import { type Service, startService } from '../harness/service.ts'
import { ednHistory } from './edn.ts'
import { followerViolations, listViolations, registerViolations } from './violations.ts'
import { type Observations, Workload } from './workload.ts'

setDefaultTimeout(120_000)

const ROUND_MS = 3_000
const PROCESSES = 2

/** When a process is killed, and how long it stays down. */
const KILLED_AFTER_MS = 1_000
const GONE_MS = 300

/** Enough to show that a round did something, even on a busy machine. */
const OPERATIONS_MIN = 50

withEachEngine('consistency', engine => {
  campaign(
    `clients of two processes on ${engine.name} see one store: nothing stale, nothing missed`,
    async ({ rounds }) => {
      for (const round of rounds(1)) {
        const observed = await observe(engine, `${engine.name}-${round}`, async () => {})
        expect(observed.failures.slice(0, 5)).toEqual([])
      }
    },
  )

  campaign(
    `clients of two processes on ${engine.name} see one store, though one is killed and comes back`,
    async ({ rounds }) => {
      for (const round of rounds(1)) {
        await observe(engine, `${engine.name}-killed-${round}`, async processes => {
          await Bun.sleep(KILLED_AFTER_MS)
          await processes.at(-1)?.killAndStartAgain()
        })
      }
    },
  )
})

/** One round on an empty database, while `disturb` interferes with its processes. */
async function observe(
  engine: Engine,
  name: string,
  disturb: (processes: readonly Process[]) => Promise<void>,
): Promise<Observations> {
  await using database = await engine.freshDatabase()
  await using open = new AsyncDisposableStack()
  const processes: Process[] = []
  for (let number = 0; number < PROCESSES; number += 1) processes.push(open.use(await Process.start(database.url)))
  const disturbing = disturb(processes)
  const observed = await Workload.run({
    addresses: processes.map(process => () => process.address),
    durationMs: ROUND_MS,
    pipelines: engine.name === 'SQLite',
  })
  await disturbing
  writeHistory(name, observed)
  expect(registerViolations(observed.registers)).toEqual([])
  expect(listViolations(observed.lists)).toEqual([])
  expect(observed.followed.flatMap(followerViolations)).toEqual([])
  expect(observed.registers.reads.length).toBeGreaterThan(OPERATIONS_MIN)
  expect(observed.lists.appends.length).toBeGreaterThan(OPERATIONS_MIN)
  return observed
}

/** A service that can be killed and restarted at another address. */
class Process implements AsyncDisposable {
  readonly #databaseUrl: string
  #service: Service

  private constructor(databaseUrl: string, service: Service) {
    this.#databaseUrl = databaseUrl
    this.#service = service
  }

  static async start(databaseUrl: string): Promise<Process> {
    return new Process(databaseUrl, await started(databaseUrl))
  }

  get address(): string {
    return this.#service.address
  }

  async killAndStartAgain(): Promise<void> {
    await this.#service.stop('SIGKILL')
    await Bun.sleep(GONE_MS)
    this.#service = await started(this.#databaseUrl)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]()
  }
}

function started(databaseUrl: string): Promise<Service> {
  return startService(databaseUrl, { flags: ['--access-log', 'off'] })
}

/** Writes the history for Elle into the folder that `npm run torture -- --history` names. */
function writeHistory(name: string, { lists }: Observations): void {
  const folder = process.env[HISTORY_VARIABLE]
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.edn`), ednHistory(lists))
}
