import { parseArgs } from 'node:util'
import { errorMessage } from '../src/program/error-message.ts'

/** The options of each bench of servers. */
export interface BenchOptions {
  readonly connections: number
  readonly seconds: number
  /** For each freshly started server. */
  readonly warmUpSeconds: number
  readonly rounds: number
  /** Names of workloads; all if empty. */
  readonly only: readonly string[]
  /** The parent of the temporary folder; by default the system's. */
  readonly directory: string | undefined
  readonly markdown: boolean
}

export interface PeersOptions extends BenchOptions {
  /** Names of servers besides the service; all if empty. */
  readonly peers: readonly string[]
  /** Whether to print nothing but the table of all workloads. */
  readonly quick: boolean
}

export interface ReportOptions extends BenchOptions {
  /** Whether to ignore the figures of an interrupted report. */
  readonly fresh: boolean
}

export interface VersionsOptions extends BenchOptions {
  /** Names of benches; all if empty. */
  readonly parts: readonly string[]
  /** A Git revision. */
  readonly revision: string
  /** Variables for the servers of the working tree. */
  readonly settings: Readonly<Record<string, string>>
}

/** A wrong command line. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const COMMON = {
  quick: { type: 'boolean', default: false },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  connections: { type: 'string', default: '32' },
  only: { type: 'string', default: '' },
  directory: { type: 'string' },
  markdown: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const WARM_UP_SECONDS = 2
const QUICK_WARM_UP_SECONDS = 1

const COMMON_HELP = `  --connections N   number of connections (32)
  --directory PATH  folder for the temporary databases; its disk limits the rate of durable writes
  --markdown        print tables as Markdown
  --help            print this text
`

export interface PeersDefaults {
  /** The names that `--only` accepts. */
  readonly only: readonly string[]
  /** The servers to compare with if `--quick` is given. */
  readonly quickPeers: readonly string[]
}

/** Prints help and returns null if `--help` was given. */
export function readPeersOptions(bench: string, { only, quickPeers }: PeersDefaults): PeersOptions | null {
  const { values } = parsed(() =>
    parseArgs({
      options: {
        ...COMMON,
        peers: { type: 'string' },
      },
    }),
  )
  if (values.help) {
    process.stdout.write(`Usage: npm run bench -- ${bench} [OPTION ...]

  --quick           one round of 2 seconds with ${quickPeers.join(', ')}: one table in five minutes
  --seconds N       seconds to drive each server in each round (4)
  --rounds N        number of rounds (3)
  --only NAMES      some of ${only.join(',')}
  --peers NAMES     servers to compare with, separated by commas; all by default
${COMMON_HELP}`)
    return null
  }
  const { quick, seconds = quick ? '2' : '4', rounds = quick ? '1' : '3' } = values
  const peers = values.peers ?? (quick ? quickPeers.join(',') : '')
  return { ...common({ ...values, seconds, rounds }), peers: names(peers), quick }
}

/** `parts` are the names that `--only` accepts. Prints help and returns null if `--help` was given. */
export function readReportOptions(parts: readonly string[]): ReportOptions | null {
  const { values } = parsed(() =>
    parseArgs({
      options: {
        ...COMMON,
        fresh: { type: 'boolean', default: false },
      },
    }),
  )
  if (values.help) {
    process.stdout.write(`Usage: npm run bench -- report [OPTION ...]

  --quick           one round of a second: a quarter of an hour instead of a half
  --fresh           repeat all measurements, even if a report of this commit was interrupted
  --seconds N       seconds to drive each server in each round (2)
  --rounds N        number of rounds (3)
  --only NAMES      some of ${parts.join(',')}
${COMMON_HELP}`)
    return null
  }
  const { quick, fresh, seconds = quick ? '1' : '2', rounds = quick ? '1' : '3' } = values
  return { ...common({ ...values, seconds, rounds, quick: true }), fresh }
}

/** `parts` lists all benches. Prints help and returns null if `--help` was given. */
export function readVersionsOptions(parts: readonly string[], only: readonly string[]): VersionsOptions | null {
  const { values, positionals } = parsed(() =>
    parseArgs({
      options: {
        ...COMMON,
        against: { type: 'string' },
        with: { type: 'string', multiple: true, default: [] },
      },
      allowPositionals: true,
    }),
  )
  if (values.help || values.against === undefined) {
    process.stdout.write(`Usage: npm run bench -- [${parts.join('] [')}] --against REVISION [OPTION ...]

  --against REVISION  the version to compare with, in the named benches or in all of them
  --with NAME=VALUE   a variable for the servers of the working tree; may be given several times
  --quick           one round of 4 turns: about five minutes for everything
  --seconds N       turns of each version in each round, of a second or an answer each (8)
  --rounds N        number of rounds; each restarts both versions (5)
  --only NAMES      some of ${only.join(',')}
${COMMON_HELP}`)
    return null
  }
  const { seconds = values.quick ? '4' : '8', rounds = values.quick ? '1' : '5' } = values
  return {
    ...common({ ...values, seconds, rounds }),
    parts: positionals,
    revision: values.against,
    settings: variables(values.with),
  }
}

/** The items with these names, or all of them if no name is given. */
export function chosen<Item extends { readonly name: string }>(
  items: readonly Item[],
  wanted: readonly string[],
): Item[] {
  const unknown = wanted.find(name => !items.some(item => item.name === name))
  if (unknown !== undefined) {
    throw new UsageError(`unknown name ${unknown}; the names are ${items.map(item => item.name).join(', ')}`)
  }
  return items.filter(item => wanted.length === 0 || wanted.includes(item.name))
}

export function parsed<Values>(parse: () => Values): Values {
  try {
    return parse()
  } catch (error) {
    throw new UsageError(errorMessage(error))
  }
}

interface CommonValues {
  readonly quick: boolean
  readonly connections: string
  readonly seconds: string
  readonly rounds: string
  readonly only: string
  readonly directory?: string | undefined
  readonly markdown: boolean
}

function common({ quick, connections, seconds, rounds, only, directory, markdown }: CommonValues): BenchOptions {
  return {
    connections: positive('connections', connections),
    seconds: positive('seconds', seconds),
    warmUpSeconds: quick ? QUICK_WARM_UP_SECONDS : WARM_UP_SECONDS,
    rounds: positive('rounds', rounds),
    only: names(only),
    directory,
    markdown,
  }
}

function positive(flag: string, text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text))
    throw new UsageError(`--${flag} ${JSON.stringify(text)} is not a whole number above 0`)
  return Number(text)
}

function variables(assignments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    assignments.map(assignment => {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(assignment) ?? []
      if (name === undefined || value === undefined) throw new UsageError(`--with ${assignment} is not NAME=VALUE`)
      return [name, value]
    }),
  )
}

export function names(text: string): string[] {
  return text.split(',').filter(name => name !== '')
}
