import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { proveAgreement } from '../catalog/agreement.ts'
import { measureRound } from '../catalog/measurement.ts'
import { seededDatabases } from '../catalog/seeded-database.ts'
import { type Contestant, NODE, SERVICE, typeScriptPeer } from '../catalog/servers.ts'
import { WORKLOADS } from '../catalog/workloads.ts'
import { installPeers, runBench, temporaryFolder } from '../command.ts'
import { comparisonTable, type Round } from '../comparison.ts'
import { machineLine, runtimes } from '../machine.ts'
import { chosen, type PeersOptions, readPeersOptions } from '../options.ts'
import { WORKING_TREE } from '../stockroom.ts'
import { renderTable } from '../table.ts'
import { startDatabase } from './database.ts'
import { measureNodes, type NodesRound, nodesTable } from './nodes.ts'

/** The workloads that the peers support. */
const COMPARED = WORKLOADS.filter(({ name }) => ['product', 'list-100', 'create'].includes(name))

const PEERS_FOLDER = join(import.meta.dir, 'peers')

const PEERS: readonly Contestant[] = [
  typeScriptPeer(PEERS_FOLDER, 'fastify-pg', NODE),
  typeScriptPeer(PEERS_FOLDER, 'fastify-postgres-js', NODE),
  typeScriptPeer(PEERS_FOLDER, 'hono-drizzle', process.execPath),
]

/** The comparison of one node with two, which `--only` selects as well. */
const NODES = 'nodes'

const PARTS = [...COMPARED.map(({ name }) => name), NODES]

process.exitCode = await runBench(
  () => readPeersOptions('postgres', { only: PARTS, quickPeers: ['fastify-postgres-js'] }),
  run,
)

async function run(options: PeersOptions, interrupted: AbortSignal): Promise<void> {
  await installPeers(interrupted)
  const parts = chosen(
    PARTS.map(name => ({ name })),
    options.only,
  ).map(({ name }) => name)
  const others = chosen(PEERS, options.peers)
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  await using server = await startDatabase(options.directory)
  const workloads = COMPARED.filter(({ name }) => parts.includes(name))
  const bench = {
    directory: folder.path,
    seeded: seededDatabases(WORKING_TREE, server.filled, interrupted),
    workloads,
    interrupted,
  }

  if (workloads.length > 0) await proveAgreement(bench, others)

  const rounds: Map<string, Round>[] = []
  const nodes: NodesRound[] = []
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds}`)
    // PostgreSQL needs the cores more than the load generator does.
    const pressure = { ...options, seed: round, pinned: false }
    rounds.push(await measureRound(bench, [SERVICE, ...others], pressure))
    if (parts.includes(NODES)) nodes.push(await measureNodes({ ...bench, workloads: COMPARED }, pressure))
  }

  const { connections, seconds } = options
  const style = options.markdown ? 'markdown' : 'plain'
  console.log(machineLine([...runtimes(), `PostgreSQL ${server.version}`], server.directory))
  console.log(`${options.rounds} rounds of ${seconds} s over ${connections} connections, one server at a time`)
  for (const workload of workloads) {
    console.log(`\n${renderTable(comparisonTable(workload, SERVICE, others, rounds), style)}`)
  }
  for (const { name, title } of nodes.length > 0 ? COMPARED : []) {
    console.log(`\n${renderTable(nodesTable(name, title, nodes), style)}`)
  }
}
