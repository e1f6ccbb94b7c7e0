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
import { nativeEngines, nativeRival } from './native.ts'
import { overviewTable } from './overview.ts'
import { seededDatabases } from './seeded-database.ts'
import { BEST_PEER, CEILING, type Contestant, NATIVE, peersAndCeiling, pinned, SERVICE } from './servers.ts'
import { type CannedAnswer, kindsOf, WORKLOADS } from './workloads.ts'

process.exitCode = await runBench(
  () =>
    readPeersOptions('catalog', {
      only: WORKLOADS.map(({ name }) => name),
      quickPeers: [BEST_PEER, NATIVE, CEILING],
    }),
  run,
)

async function run(options: PeersOptions, interrupted: AbortSignal): Promise<void> {
  await installPeers(interrupted)
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const answersFile = join(folder.path, 'answers.json')
  const native = await nativeRival(folder.path, interrupted)
  const others = chosenPeers(peersAndCeiling(answersFile, native), options.peers).map(pinned)
  const workloads = chosen(WORKLOADS, options.only)
  const seeded = seededDatabases(WORKING_TREE, folder.path, interrupted)
  const bench = { directory: folder.path, seeded, workloads, interrupted }

  await prove(bench, others, answersFile)

  const rounds: Map<string, Round>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds}`)
    rounds.push(await measureRound(bench, [pinned(SERVICE), ...others], { ...options, seed: round, pinned: true }))
  }

  const { connections, seconds } = options
  console.log(machineLine([...embeddedEngines(), ...(native.length > 0 ? nativeEngines() : [])], folder.path))
  console.log(`${options.rounds} rounds of ${seconds} s over ${connections} connections, one server at a time`)
  const style = options.markdown ? 'markdown' : 'plain'
  for (const { name, title } of options.quick ? [] : workloads) {
    const comparison = {
      title,
      subject: SERVICE.name,
      peers: others.filter(server => server.kind === 'peer').map(server => server.name),
      others: others.filter(server => server.kind !== 'peer').map(server => server.name),
      rounds: rounds.flatMap(round => round.get(name) ?? []),
    }
    console.log(`\n${renderTable(comparisonTable(comparison), style)}`)
  }
  console.log(`\n${renderTable(overviewTable(workloads, others, rounds), style)}`)
}

/** The native rival may be named and yet be missing. */
function chosenPeers(servers: readonly Contestant[], wanted: readonly string[]): Contestant[] {
  const there = wanted.filter(name => name !== NATIVE || servers.some(server => server.name === NATIVE))
  return wanted.length > 0 && there.length === 0 ? [] : chosen(servers, there)
}

/** Compares the answers of all servers before measuring any. The ceiling repeats the service's own answers. */
async function prove(bench: Bench, others: readonly Contestant[], answersFile: string): Promise<void> {
  const expected = await answersFrom(bench, SERVICE)
  const canned: Record<string, CannedAnswer[]> = {}
  for (const workload of bench.workloads) {
    canned[workload.name] = kindsOf(workload).map(kind => typicalAnswer(workload, kind, expected))
  }
  await writeFile(answersFile, JSON.stringify(canned))
  for (const other of others) {
    if (other.kind === 'ceiling') await proveCeiling(bench, other, canned)
    else await proveAgreement(bench, other, expected)
    console.error(`${other.name} gives the same answers as ${SERVICE.name}`)
  }
}
