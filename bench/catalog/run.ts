import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPeers, runBench, temporaryFolder } from '../command.ts'
import { comparisonTable, type Round } from '../comparison.ts'
import { embeddedEngines, machineLine } from '../machine.ts'
import { chosen, type PeersOptions, readPeersOptions } from '../options.ts'
import { WORKING_TREE } from '../stockroom.ts'
import { renderTable } from '../table.ts'
import { answersFrom, proveAgreement, proveCeiling } from './agreement.ts'
import { typicalAnswer } from './answers.ts'
import type { Bench } from './bench.ts'
import { measureRound } from './measurement.ts'
import { seedDatabase } from './seeded-database.ts'
import { type Contestant, peersAndCeiling, SERVICE } from './servers.ts'
import { WORKLOADS, workloadsOver } from './workloads.ts'

process.exitCode = await runBench(() => readPeersOptions('catalog', WORKLOADS), run)

async function run(options: PeersOptions, interrupted: AbortSignal): Promise<void> {
  await installPeers(interrupted)
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const answersFile = join(folder.path, 'answers.json')
  const others = chosen(peersAndCeiling(answersFile), options.peers)
  const database = await seedDatabase(WORKING_TREE, folder.path, interrupted)
  const workloads = chosen(workloadsOver(database.productIds), options.only)
  const bench = { directory: folder.path, database, workloads, interrupted }

  await prove(bench, others, answersFile)

  const rounds: Map<string, Round>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds}`)
    rounds.push(await measureRound(bench, [SERVICE, ...others], { ...options, seed: round }))
  }

  const { connections, seconds } = options
  console.log(machineLine(embeddedEngines(), folder.path))
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

/** Compares the answers of all servers before measuring any. The ceiling repeats the service's own answers. */
async function prove(bench: Bench, others: readonly Contestant[], answersFile: string): Promise<void> {
  const expected = await answersFrom(bench, SERVICE)
  const canned = bench.workloads.map(workload => typicalAnswer(workload, expected))
  await writeFile(answersFile, JSON.stringify(canned))
  for (const other of others) {
    if (other.kind === 'ceiling') await proveCeiling(bench, other, canned)
    else await proveAgreement(bench, other, expected)
    console.error(`${other.name} gives the same answers as ${SERVICE.name}`)
  }
}
