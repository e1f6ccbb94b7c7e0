import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { comparisonTable, type Round } from '../comparison.ts'
import { hasLoadGenerator } from '../load-generator.ts'
import { machineLine } from '../machine.ts'
import { type BenchOptions, chosen, HELP, readOptions, UsageError } from '../options.ts'
import { renderTable } from '../table.ts'
import { answersFrom, proveAgreement, proveCeiling } from './agreement.ts'
import { typicalAnswer } from './answers.ts'
import type { Bench } from './bench.ts'
import { measureRound } from './measurement.ts'
import { seedDatabase } from './seeded-database.ts'
import { BENCH, type Contestant, NODE, peersAndCeiling, SERVICE } from './servers.ts'
import { workloadsOver } from './workloads.ts'

/** The exit status of a program that was interrupted, as shells have it. */
const INTERRUPTED_STATUS = 130

process.exitCode = await main(process.argv.slice(2))

async function main(argv: readonly string[]): Promise<number> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort())
  try {
    const options = readOptions(argv)
    if (options === null) {
      process.stdout.write(HELP)
      return 0
    }
    if (!hasLoadGenerator()) throw new UsageError('wrk is not here; get it, for example with: apt-get install wrk')
    await installPeers(interruption.signal)
    await run(options, interruption.signal)
    return 0
  } catch (error) {
    if (interruption.signal.aborted) return INTERRUPTED_STATUS
    console.error(`bench: ${error instanceof Error ? error.message : error}`)
    return error instanceof UsageError ? 2 : 1
  }
}

async function run(options: BenchOptions, interrupted: AbortSignal): Promise<void> {
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const answersFile = join(folder.path, 'answers.json')
  const others = chosen(peersAndCeiling(answersFile), options.against)
  const database = await seedDatabase(folder.path, interrupted)
  const workloads = chosen(workloadsOver(database.productIds), options.only)
  const bench = { directory: folder.path, database, workloads, interrupted }

  await prove(bench, others, answersFile)

  const rounds: Map<string, Round>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds}`)
    rounds.push(await measureRound(bench, [SERVICE, ...others], { ...options, seed: round }))
  }

  const { connections, seconds } = options
  console.log(machineLine(NODE, BENCH, folder.path))
  console.log(`${options.rounds} rounds of ${seconds} s over ${connections} connections, one server at a time`)
  for (const { name, title } of workloads) {
    const comparison = {
      title,
      subject: SERVICE.name,
      peers: others.filter(server => server.kind === 'peer').map(server => server.name),
      others: others.filter(server => server.kind === 'ceiling').map(server => server.name),
      rounds: rounds.flatMap(round => round.get(name) ?? []),
    }
    console.log(`\n${renderTable(comparisonTable(comparison), options.markdown ? 'markdown' : 'plain')}`)
  }
}

/** Asks everyone before anyone is measured. The ceiling is given the service's own answers to repeat. */
async function prove(bench: Bench, others: readonly Contestant[], answersFile: string): Promise<void> {
  const expected = await answersFrom(bench, SERVICE)
  const canned = bench.workloads.map(workload => typicalAnswer(workload, expected))
  await writeFile(answersFile, JSON.stringify(canned))
  for (const other of others) {
    if (other.kind === 'ceiling') await proveCeiling(bench, other, canned)
    else await proveAgreement(bench, other, expected)
    console.error(`${other.name} answers as ${SERVICE.name} does`)
  }
}

/** The peers' dependencies are the bench's alone; the product never installs them. */
async function installPeers(interrupted: AbortSignal): Promise<void> {
  if (existsSync(NODE)) return
  console.error('installing the peers with npm ci')
  const npm = Bun.spawn(['npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: BENCH,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
    signal: interrupted,
  })
  const status = await npm.exited
  interrupted.throwIfAborted()
  if (status !== 0) throw new Error(`npm ci ended with status ${status}`)
}

async function temporaryFolder(parent: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(parent, 'stockroom-bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
