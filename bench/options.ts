import { parseArgs } from 'node:util'
import { errorMessage } from '../src/error-message.ts'

/** What each bench of servers can be told. */
export interface BenchOptions {
  readonly connections: number
  readonly seconds: number
  readonly rounds: number
  /** Names of workloads; all when empty. */
  readonly only: readonly string[]
  /** Where the temporary folder is made; the system's own place when undefined. */
  readonly directory: string | undefined
  readonly markdown: boolean
}

export interface PeersOptions extends BenchOptions {
  /** Names of servers besides the service; all when empty. */
  readonly peers: readonly string[]
}

export interface VersionsOptions extends BenchOptions {
  /** Names of benches; all when empty. */
  readonly parts: readonly string[]
  /** As Git names it. */
  readonly revision: string
}

/** A mistake of whoever runs the bench. */
export class UsageError extends Error {
  override name = 'UsageError'
}

const COMMON = {
  connections: { type: 'string', default: '32' },
  only: { type: 'string', default: '' },
  directory: { type: 'string' },
  markdown: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const COMMON_HELP = `  --connections N   connections that are kept open at once (32)
  --directory PATH  where the temporary databases are made: durable writes are as fast as its disk
  --markdown        print tables as Markdown
  --help            print this
`

/** `only` are the names that `--only` takes. Prints help and answers null when that was asked for. */
export function readPeersOptions(bench: string, only: readonly string[]): PeersOptions | null {
  const { values } = parsed(() =>
    parseArgs({
      options: {
        ...COMMON,
        seconds: { type: 'string', default: '4' },
        rounds: { type: 'string', default: '3' },
        peers: { type: 'string', default: '' },
      },
    }),
  )
  if (values.help) {
    process.stdout.write(`Usage: npm run bench -- ${bench} [OPTION ...]

  --seconds N       how long each server is driven in each round (4)
  --rounds N        how often each server is driven (3)
  --only NAMES      of ${only.join(',')} these
  --peers NAMES     these servers besides the service, with commas between
${COMMON_HELP}`)
    return null
  }
  return { ...common(values), peers: names(values.peers) }
}

/** `parts` are the benches that there are. Prints help and answers null when that was asked for. */
export function readVersionsOptions(parts: readonly string[], only: readonly string[]): VersionsOptions | null {
  const { values, positionals } = parsed(() =>
    parseArgs({
      options: {
        ...COMMON,
        against: { type: 'string' },
        quick: { type: 'boolean', default: false },
        seconds: { type: 'string' },
        rounds: { type: 'string' },
      },
      allowPositionals: true,
    }),
  )
  if (values.help || values.against === undefined) {
    process.stdout.write(`Usage: npm run bench -- [${parts.join('] [')}] --against REVISION [OPTION ...]

  --against REVISION  compare this version with that one, in all of the named benches
  --quick           two rounds of 3 seconds: about five minutes for everything
  --seconds N       how often each version is driven in each round, for a second or an answer (8)
  --rounds N        how often both are started anew (5)
  --only NAMES      of ${only.join(',')} these
${COMMON_HELP}`)
    return null
  }
  const { seconds = values.quick ? '3' : '8', rounds = values.quick ? '2' : '5' } = values
  return { ...common({ ...values, seconds, rounds }), parts: positionals, revision: values.against }
}

/** The items of those names, or all of them when no name is given. */
export function chosen<Item extends { readonly name: string }>(
  items: readonly Item[],
  wanted: readonly string[],
): Item[] {
  const unknown = wanted.find(name => !items.some(item => item.name === name))
  if (unknown !== undefined) {
    throw new UsageError(`there is no ${unknown}; there are ${items.map(item => item.name).join(', ')}`)
  }
  return items.filter(item => wanted.length === 0 || wanted.includes(item.name))
}

function parsed<Values>(parse: () => Values): Values {
  try {
    return parse()
  } catch (error) {
    throw new UsageError(errorMessage(error))
  }
}

interface CommonValues {
  readonly connections: string
  readonly seconds: string
  readonly rounds: string
  readonly only: string
  readonly directory?: string | undefined
  readonly markdown: boolean
}

function common({ connections, seconds, rounds, only, directory, markdown }: CommonValues): BenchOptions {
  return {
    connections: positive('connections', connections),
    seconds: positive('seconds', seconds),
    rounds: positive('rounds', rounds),
    only: names(only),
    directory,
    markdown,
  }
}

function positive(flag: string, text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--${flag} ${JSON.stringify(text)} is no number above 0`)
  return Number(text)
}

function names(text: string): string[] {
  return text.split(',').filter(name => name !== '')
}
