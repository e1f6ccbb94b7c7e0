import { tmpdir } from 'node:os'
import { type Filled, filledIn, seededDatabases } from '../catalog/seeded-database.ts'
import { WORKLOADS, type Workload } from '../catalog/workloads.ts'
import { runBench, temporaryFolder } from '../command.ts'
import { machineLine } from '../machine.ts'
import { chosen, readVersionsOptions, type VersionsOptions } from '../options.ts'
import { startDatabase } from '../postgres/database.ts'
import { type Version, WORKING_TREE } from '../stockroom.ts'
import { renderTable } from '../table.ts'
import { compareWorkload } from './catalog.ts'
import { compareChat } from './chat.ts'
import { checkOut, commitOf } from './checkout.ts'
import { compareMarkdown } from './markdown.ts'
import { versionsTable } from './table.ts'
import type { Pair, Row } from './turns.ts'

type Measure = (
  versions: Pair<Version>,
  folder: string,
  options: VersionsOptions,
  interrupted: AbortSignal,
) => Promise<Row[]>

const PARTS: readonly { readonly name: string; readonly measure: Measure }[] = [
  { name: 'markdown', measure: async (versions, _, options) => [await compareMarkdown(versions, options)] },
  { name: 'chat', measure: async (...told) => [await compareChat(...told)] },
  { name: 'catalog', measure: compareOnSqlite },
  { name: 'postgres', measure: compareOnPostgres },
]

/** The others would tell little more of an engine that does most of the work. */
const ON_POSTGRES = ['product', 'list-100', 'reviews', 'create', 'create-keyed', 'update']

process.exitCode = await runBench(
  () =>
    readVersionsOptions(
      PARTS.map(({ name }) => name),
      WORKLOADS.map(({ name }) => name),
    ),
  run,
)

async function run(options: VersionsOptions, interrupted: AbortSignal): Promise<void> {
  const { rounds, seconds, connections, settings } = options
  const parts = chosen(PARTS, options.parts)
  chosen(WORKLOADS, options.only)
  const commit = await commitOf(options.revision, interrupted)
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const versions = [
    await checkOut(commit, folder.path, interrupted),
    { ...WORKING_TREE, name: 'now', settings },
  ] as const
  const rows: Row[] = []
  for (const { name, measure } of parts) {
    console.error(`measuring ${name}`)
    rows.push(...(await measure(versions, folder.path, options, interrupted)))
  }
  console.log(machineLine([`Bun ${Bun.version}`], folder.path))
  console.log(`${rounds} rounds of ${seconds} turns each, requests over ${connections} connections\n`)
  const table = versionsTable(`Before, at ${commit}, and now, in the working tree`, rows)
  console.log(renderTable(table, options.markdown ? 'markdown' : 'plain'))
}

async function compareOnSqlite(...told: Parameters<Measure>): Promise<Row[]> {
  const [, folder] = told
  return await compareCatalog('SQLite', filledIn(folder), WORKLOADS, ...told)
}

async function compareOnPostgres(...told: Parameters<Measure>): Promise<Row[]> {
  const [, , options] = told
  await using server = await startDatabase(options.directory)
  const workloads = WORKLOADS.filter(({ name }) => ON_POSTGRES.includes(name))
  return await compareCatalog('PostgreSQL', server.filled, workloads, ...told)
}

async function compareCatalog(
  engine: string,
  filled: Filled,
  workloads: readonly Workload[],
  ...[[before, now], folder, options, interrupted]: Parameters<Measure>
): Promise<Row[]> {
  const side = (version: Version) => ({ version, seeded: seededDatabases(version, filled, interrupted) })
  const sides = [side(before), side(now)] as const
  const rows: Row[] = []
  for (const workload of workloads.filter(({ name }) => options.only.length === 0 || options.only.includes(name))) {
    console.error(`measuring ${workload.name} on ${engine}`)
    rows.push(...(await compareWorkload(engine, sides, workload, folder, options, interrupted)))
  }
  return rows
}
