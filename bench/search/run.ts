import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SeededDatabase } from '../catalog/bench.ts'
import { type Filled, filledIn } from '../catalog/seeded-database.ts'
import { NODE, peer, service } from '../catalog/servers.ts'
import { installPeers, runBench, temporaryFolder } from '../command.ts'
import { machineLine } from '../machine.ts'
import { measuredVersion } from '../measured-version.ts'
import { chosen } from '../options.ts'
import { startDatabase } from '../postgres/database.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import { type Version, WORKING_TREE } from '../stockroom.ts'
import { renderTable, type Table } from '../table.ts'
import { checkOut, commitOf } from '../versions/checkout.ts'
import { proveSameFound } from './agreement.ts'
import { untilSearchable } from './asking.ts'
import { type CatalogFiles, importCatalog, writeCatalog } from './catalog-files.ts'
import { measureFeed } from './feed/measurement.ts'
import { measureGroups } from './measurement.ts'
import { readSearchOptions, type SearchOptions } from './options.ts'
import { keepTable, writePage } from './page.ts'
import { fillPeerDatabase } from './peers/database.ts'
import { type Engine, requestGroups } from './requests.ts'
import { feedTable, pausesTable, requestsTable, type Searched, writersTable } from './tables.ts'
import { measureWriters } from './writers.ts'

const PEER = join(import.meta.dir, 'peers', 'fastify-fts5.ts')

/** One program, as people write it, and without the score of each match. */
const PEERS = [
  peer('fastify-fts5', [NODE, PEER], { RANKED: 'on' }),
  peer('fastify-fts5 unranked', [NODE, PEER], { RANKED: 'off' }),
]

/** One, because a rank of each match can take a second. */
const PEER_ROUNDS = 1

/** Shared by all parts of a run. */
interface Run {
  readonly options: SearchOptions
  readonly files: CatalogFiles
  readonly folder: string
  readonly earlier: Version | null
  readonly show: (name: string, table: Table) => Promise<void>
  readonly interrupted: AbortSignal
}

process.exitCode = await runBench(readSearchOptions, run, ({ parts }) => parts.includes('writers'))

async function run(options: SearchOptions, interrupted: AbortSignal): Promise<void> {
  const commit = options.revision === null ? null : await commitOf(options.revision, interrupted)
  await using temporary = await temporaryFolder(options.directory ?? tmpdir())
  const folder = temporary.path
  if (options.parts.includes('peers')) await installPeers(interrupted)
  const earlier = commit === null ? null : await checkOut(commit, folder, interrupted)
  console.error(`writing a catalog of ${options.products.toLocaleString('en')} products`)
  const files = await writeCatalog(join(folder, 'catalog'), options.products, interrupted)

  const version = await measuredVersion(interrupted)
  const machine = machineLine([`Bun ${Bun.version}`], folder)
  const circumstances = `${machine}; ${files.products.toLocaleString('en')} products and as many reviews, ${options.rounds} ${options.rounds === 1 ? 'round' : 'rounds'}`
  console.log(circumstances)
  const show = async (name: string, table: Table) => {
    console.log(`\n${renderTable(table, options.markdown ? 'markdown' : 'plain')}`)
    await keepTable(version, name, { table, circumstances })
  }
  const all: Run = { options, files, folder, earlier, show, interrupted }
  for (const engine of options.engines) {
    if (engine === 'SQLite') {
      await measureEngine(all, engine, filledIn(folder))
    } else {
      await using server = await startDatabase(options.directory)
      await measureEngine(all, engine, server.filled)
    }
  }
  if (options.report) await writePage(version)
}

async function measureEngine(all: Run, engine: Engine, filled: Filled): Promise<void> {
  const { options, files, folder, earlier, show, interrupted } = all
  const { parts, revision, changesPerSecond } = options
  const importedBy = (version: Version) => {
    console.error(`${engine}: importing with ${version.name}`)
    return filled(version.name, address => importCatalog(version, files, address, interrupted))
  }
  const database = await importedBy(WORKING_TREE)

  if (parts.includes('requests') || parts.includes('peers')) await measureRequests(all, engine, database)

  if (parts.includes('writers')) {
    console.error(`${engine}: writers`)
    const before = earlier && { version: earlier, database: await importedBy(earlier) }
    const now = { version: WORKING_TREE, database }
    const pressure = { ...options, turns: options.rounds }
    const figures = await measureWriters(now, before, files, folder, pressure, interrupted)
    await show(`${engine} writers`, writersTable(engine, figures, revision))
  }

  if (parts.includes('feed')) {
    console.error(`${engine}: the feed`)
    const figures = await measureFeed(database, folder, { ...options, seconds: 2 * options.seconds }, interrupted)
    await show(`${engine} feed`, feedTable(engine, figures, changesPerSecond))
  }
}

async function measureRequests(all: Run, engine: Engine, database: SeededDatabase): Promise<void> {
  const { options, files, folder, show, interrupted } = all
  const groups = chosen(requestGroups(files), options.groups)
  const measured = async (name: string, server: RunningServer, rounds: number): Promise<Searched> => {
    console.error(`${engine}: requests to ${name}`)
    return { server: name, figures: await measureGroups(server, groups, rounds, interrupted) }
  }

  await using copy = await database.copy(true)
  await using stack = new AsyncDisposableStack()
  const running = stack.use(await startServer(service(WORKING_TREE).on(copy.address), interrupted))
  const seconds = await untilSearchable(running.address, interrupted)
  if (seconds > 1) console.error(`  the index was there after ${seconds.toFixed(0)} s`)

  // The peer has one engine.
  const peers = engine === 'SQLite' && options.parts.includes('peers') ? PEERS : []
  const filledPeer =
    peers.length > 0
      ? await filledIn(folder)('peer', address => fillPeerDatabase(address.replace(/^sqlite:/, ''), files, interrupted))
      : null
  // Before anything is measured, because measuring creates products.
  if (filledPeer) {
    await using original = await filledPeer.copy(false)
    for (const other of peers) {
      await using server = await startServer(other.on(original.address), interrupted)
      await proveSameFound(running.address, server.address, files)
      console.error(`${other.name} finds the same as ${WORKING_TREE.name}`)
    }
  }

  const own = options.parts.includes('requests') ? await measured(WORKING_TREE.name, running, options.rounds) : null
  // One server runs at a time.
  await stack.disposeAsync()
  const theirs: Searched[] = []
  for (const other of filledPeer ? peers : []) {
    await using its = await filledPeer?.copy(true)
    if (!its) continue
    await using server = await startServer(other.on(its.address), interrupted)
    theirs.push(await measured(other.name, server, PEER_ROUNDS))
  }

  if (!own && theirs.length === 0) return
  await show(`${engine} requests`, requestsTable(engine, groups, own, theirs, files.products))
  await show(`${engine} pauses`, pausesTable(engine, groups, own, theirs))
}
