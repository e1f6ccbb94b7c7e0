import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installPeers } from '../command.ts'
import { embeddedEngines } from '../machine.ts'
import { chosen } from '../options.ts'
import { WORKING_TREE } from '../stockroom.ts'
import { proveAgreement, proveCeiling } from './agreement.ts'
import { typicalAnswer } from './answers.ts'
import type { Bench } from './bench.ts'
import { nativeEngines, nativeRival } from './native.ts'
import { filledIn, seededDatabases } from './seeded-database.ts'
import { type Contestant, NATIVE, peersAndCeiling, pinned, SERVICE } from './servers.ts'
import { type CannedAnswer, kindsOf, type Workload } from './workloads.ts'

/** The service and the servers that it is compared with, all of which give the same answers. */
export interface Contest {
  readonly bench: Bench
  readonly service: Contestant
  readonly others: readonly Contestant[]
  /** The runtimes, each with its SQLite. */
  readonly engines: readonly string[]
}

/** Installs and builds the servers, seeds a database, and compares all answers. `wanted` names servers; all if empty. */
export async function openContest(
  directory: string,
  workloads: readonly Workload[],
  wanted: readonly string[],
  interrupted: AbortSignal,
): Promise<Contest> {
  await installPeers(interrupted)
  const answersFile = join(directory, 'answers.json')
  const native = await nativeRival(directory, interrupted)
  const others = chosenPeers(peersAndCeiling(answersFile, native), wanted).map(pinned)
  const seeded = seededDatabases(WORKING_TREE, filledIn(directory), interrupted)
  const bench = { directory, seeded, workloads, interrupted }
  await prove(bench, others, answersFile)
  const engines = [...embeddedEngines(), ...(native.length > 0 ? nativeEngines() : [])]
  return { bench, service: pinned(SERVICE), others, engines }
}

/** The native rival may be named and yet be missing. */
function chosenPeers(servers: readonly Contestant[], wanted: readonly string[]): Contestant[] {
  const there = wanted.filter(name => name !== NATIVE || servers.some(server => server.name === NATIVE))
  return wanted.length > 0 && there.length === 0 ? [] : chosen(servers, there)
}

/** Compares the answers of all servers before measuring any. The ceiling repeats the service's own answers. */
async function prove(bench: Bench, others: readonly Contestant[], answersFile: string): Promise<void> {
  const ceilings = others.filter(({ kind }) => kind === 'ceiling')
  const expected = await proveAgreement(
    bench,
    others.filter(other => !ceilings.includes(other)),
  )
  const canned: Record<string, CannedAnswer[]> = {}
  for (const workload of bench.workloads) {
    canned[workload.name] = kindsOf(workload).map(kind => typicalAnswer(workload, kind, expected))
  }
  await writeFile(answersFile, JSON.stringify(canned))
  for (const ceiling of ceilings) await proveCeiling(bench, ceiling, canned)
}
