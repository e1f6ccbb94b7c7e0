import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { spawn } from 'bun'
import { temporaryFolder } from './temporary-folder.ts'

const TEST_TIMEOUT_MS = 120_000

/** More than there are cores, because many tests wait: for grace periods, time limits and browsers. */
const FILES_AT_ONCE = availableParallelism() + 4

/** How long each file took, so that the longest ones start first. `npm test -- --update-timings` writes it. */
const TIMINGS = resolve(import.meta.dir, '../timings.json')

export interface Outcome {
  readonly passed: number
  readonly failed: number
  /** The names of the skipped tests, with their files. */
  readonly skipped: readonly string[]
}

interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly output?: 'inherit' | 'ignore'
}

/** Runs `bun test` and counts from its report, because a run that breaks off prints no counts. */
export async function runBunTest(
  argv: readonly string[],
  { environment = {}, output = 'inherit' }: RunOptions = {},
): Promise<Outcome> {
  using folder = temporaryFolder()
  const report = join(folder.path, 'report.xml')
  const child = spawn(
    [
      process.execPath,
      'test',
      `--parallel=${FILES_AT_ONCE}`,
      // Each of these processes loads a module once, not once for each test file.
      '--no-isolate',
      `--timings=${TIMINGS}`,
      `--timeout=${TEST_TIMEOUT_MS}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      ...argv,
    ],
    {
      env: { ...process.env, ...environment },
      stdout: output,
      stderr: output,
    },
  )
  const exitCode = await child.exited
  return outcomeOf(readReport(report), exitCode)
}

/** The result of a run, ending in one line of counts. Skipped tests are named, so nobody mistakes them for passed. */
export function summary({ passed, failed, skipped }: Outcome): string {
  const counts = `${passed} passed, ${failed} failed`
  if (skipped.length === 0) return counts
  return ['skipped:', ...skipped.map(name => `  ${name}`), `${counts}, ${skipped.length} skipped`].join('\n')
}

function outcomeOf(report: string, exitCode: number): Outcome {
  const counts = /<testsuites [^>]*tests="(\d+)"[^>]*failures="(\d+)"/.exec(report)
  const skipped = skippedIn(report)
  const ran = Number(counts?.[1] ?? 0) - skipped.length
  // A run that ends with an error has failed, even if every test that ran has passed.
  const failed = Math.max(Number(counts?.[2] ?? 0), exitCode === 0 ? 0 : 1)
  return { passed: Math.max(ran - failed, 0), failed, skipped }
}

function skippedIn(report: string): string[] {
  const cases = report.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]* file="([^"]*)"[^>]*>\s*<skipped/g)
  return Array.from(cases, ([, name = '', suites = '', file = '']) => {
    // The innermost suite comes first.
    const path = [...suites.split(' &gt; ').reverse(), name].filter(part => part !== '')
    return unescaped(`${file}: ${path.join(' › ')}`)
  })
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function unescaped(xml: string): string {
  return xml.replace(/&(\w+);/g, (entity, name) => ENTITIES[name] ?? entity)
}

function readReport(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
