import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorMessage } from '../../src/program/error-message.ts'
import { type Contest, openContest } from '../catalog/contest.ts'
import { measure, measureRound } from '../catalog/measurement.ts'
import { overviewTable } from '../catalog/overview.ts'
import { BENCH, type Contestant } from '../catalog/servers.ts'
import { WORKLOADS, type Workload } from '../catalog/workloads.ts'
import { runBench, temporaryFolder } from '../command.ts'
import type { Measurement, Round } from '../comparison.ts'
import { machineLine } from '../machine.ts'
import { measuredVersion, PAGE, PICTURES } from '../measured-version.ts'
import { chosen, type ReportOptions, readReportOptions } from '../options.ts'
import { drawn } from './chart.ts'
import { GROWTHS, type Growth, measureConnections, measureCores, measureData, pictureOf } from './growth.ts'
import { type KeptFigures, keptFigures } from './kept-figures.ts'
import { type Chapter, type Circumstances, page } from './page.ts'

/** Of one part of the report, before it ends. */
const FAILURES_MAX = 5

interface Part {
  readonly name: string
  readonly measure: (contest: Contest, figures: KeptFigures, options: ReportOptions) => Promise<void>
}

const PARTS: readonly Part[] = [
  { name: 'table', measure: measureTable },
  {
    name: 'connections',
    measure: ({ bench, service, others }, figures) => measureConnections(bench, [service, ...others], figures),
  },
  { name: 'data', measure: ({ bench, service, others }, figures) => measureData(bench, [service, ...others], figures) },
  { name: 'cores', measure: ({ bench }, figures) => measureCores(bench, figures) },
]

const FIGURES: readonly { name: string; title: string; figure: (measurement: Measurement) => number | null }[] = [
  { name: 'rate', title: 'Requests per second', figure: ({ requestsPerSecond }) => requestsPerSecond },
  { name: 'cost', title: 'CPU µs per request', figure: ({ processorMicroseconds }) => processorMicroseconds },
]

const CHAPTERS: readonly { growth: Growth; title: string; text: string }[] = [
  {
    growth: GROWTHS.connections,
    title: 'More connections',
    text: `Reads hardly depend on the number of connections, as long as they keep the server busy. Durable writes do: a group commit
serves all that wait, so its cost is shared.`,
  },
  {
    growth: GROWTHS.data,
    title: 'More data',
    text: `The same workloads on 10,000, 100,000 and 1,000,000 products, each with three reviews, and 100 in each category. Reads are of
random items, so the share that comes from a cache falls as the data outgrows it. The pages of a list are random, too: to reach
a page far down, every server walks past all that it skips. \`npm run bench -- growth\` measures each operation without the
cache.`,
  },
  {
    growth: GROWTHS.cores,
    title: 'More cores',
    text: `\`stockroom serve --workers N\` on one port. Each worker may run for a fifth of the time, so that the workers are the
bottleneck, as they are on a machine with more cores than this one, and not the load generator.`,
  },
]

process.exitCode = await runBench(() => readReportOptions(PARTS.map(({ name }) => name)), run)

async function run(options: ReportOptions, interrupted: AbortSignal): Promise<void> {
  const parts = chosen(PARTS, options.only)
  const version = await measuredVersion(interrupted)
  const file = join(BENCH, 'results', `${version}-${options.rounds}x${options.seconds}.json`)
  if (options.fresh) await rm(file, { force: true })
  const figures = await keptFigures(file)
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const contest = await openContest(folder.path, WORKLOADS, [], interrupted)
  const about = {
    ...options,
    version,
    date: new Date().toISOString().slice(0, 10),
    machine: machineLine(contest.engines, folder.path),
  }

  for (const part of parts) {
    console.error(`measuring ${part.name}`)
    await persistently(() => part.measure(contest, figures, options), interrupted)
    await write(about, contest, figures)
  }
}

/** Goes on after a failure, without what is measured already: something else may have stalled the machine. */
async function persistently<Result>(work: () => Promise<Result>, interrupted: AbortSignal): Promise<Result> {
  for (let failures = 1; failures < FAILURES_MAX; failures++) {
    try {
      return await work()
    } catch (error) {
      if (interrupted.aborted) throw error
      console.error(`${errorMessage(error)}; going on`)
    }
  }
  return await work()
}

async function measureTable(
  { bench, service, others }: Contest,
  figures: KeptFigures,
  options: ReportOptions,
): Promise<void> {
  for (let round = 1; round <= options.rounds; round++) {
    console.error(`round ${round} of ${options.rounds}`)
    await measureRound(bench, [service, ...others], { ...options, seed: round, pinned: true }, (...what) => {
      const [, server, workload] = what
      return figures.once(nameOf(round, workload, server), () => measure(...what))
    })
  }
}

/** The rounds of the table, as far as they were measured. */
function keptRounds({ service, others }: Contest, figures: KeptFigures, rounds: number): Map<string, Round>[] {
  return Array.from({ length: rounds }, (_, index) => {
    const measured = WORKLOADS.map(workload => {
      const servers = [service, ...others].flatMap(server => {
        const measurement = figures.measured(nameOf(index + 1, workload, server))
        return measurement ? [[server.name, measurement] as const] : []
      })
      return [workload.name, new Map(servers)] as const
    })
    return new Map(measured)
  })
}

function nameOf(round: number, workload: Workload, server: Contestant): string {
  return `round ${round} ${workload.name} ${server.name}`
}

/** Writes what is known so far: the page is whole after each part. */
async function write(about: Circumstances, contest: Contest, figures: KeptFigures): Promise<void> {
  await mkdir(PICTURES, { recursive: true })
  const chapters: Chapter[] = []
  for (const { growth, title, text } of CHAPTERS) {
    const pictures = []
    for (const { name, figure, title: shown } of FIGURES) {
      const picture = pictureOf(growth, `${shown}, by ${growth.across}`, figure, figures)
      if (picture.panels.length === 0) continue
      const file = `${growth.name}-${name}.svg`
      await Bun.write(join(PICTURES, file), drawn(picture))
      pictures.push({ name: file, title: picture.title })
    }
    if (pictures.length > 0) chapters.push({ title, text, pictures })
  }
  await Bun.write(
    PAGE,
    page(about, overviewTable(WORKLOADS, contest.others, keptRounds(contest, figures, about.rounds)), chapters),
  )
  console.error(`wrote ${PAGE}`)
}
