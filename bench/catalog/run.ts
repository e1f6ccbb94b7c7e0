import { tmpdir } from 'node:os'
import { runBench, temporaryFolder } from '../command.ts'
import { comparisonTable, type Round } from '../comparison.ts'
import { machineLine } from '../machine.ts'
import { chosen, type PeersOptions, readPeersOptions } from '../options.ts'
import { renderTable } from '../table.ts'
import { openContest } from './contest.ts'
import { measureRound } from './measurement.ts'
import { overviewTable } from './overview.ts'
import { BEST_PEER, CEILING, NATIVE } from './servers.ts'
import { WORKLOADS } from './workloads.ts'

process.exitCode = await runBench(
  () =>
    readPeersOptions('catalog', {
      only: WORKLOADS.map(({ name }) => name),
      quickPeers: [BEST_PEER, NATIVE, CEILING],
    }),
  run,
)

async function run(options: PeersOptions, interrupted: AbortSignal): Promise<void> {
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const workloads = chosen(WORKLOADS, options.only)
  const { bench, service, others, engines } = await openContest(folder.path, workloads, options.peers, interrupted)

  const rounds: Map<string, Round>[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds}`)
    rounds.push(await measureRound(bench, [service, ...others], { ...options, seed: round, pinned: true }))
  }

  const { connections, seconds } = options
  console.log(machineLine(engines, folder.path))
  console.log(`${options.rounds} rounds of ${seconds} s over ${connections} connections, one server at a time`)
  const style = options.markdown ? 'markdown' : 'plain'
  for (const workload of options.quick ? [] : workloads) {
    console.log(`\n${renderTable(comparisonTable(workload, service, others, rounds), style)}`)
  }
  console.log(`\n${renderTable(overviewTable(workloads, others, rounds), style)}`)
}
