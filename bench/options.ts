import { parseArgs } from 'node:util'
import { errorMessage } from '../src/error-message.ts'

export interface BenchOptions {
  readonly connections: number
  readonly seconds: number
  readonly rounds: number
  /** Names of workloads; all when empty. */
  readonly only: readonly string[]
  /** Names of servers besides the service; all when empty. */
  readonly against: readonly string[]
  /** Where the temporary folder is made; the system's own place when undefined. */
  readonly directory: string | undefined
  readonly markdown: boolean
}

/** `parts` are the names that `--only` takes. */
export const helpOf = (bench: string, parts: readonly string[]) => `Usage: npm run bench -- ${bench} [OPTION ...]

  --connections N   connections that are kept open at once (32)
  --seconds N       how long each server is driven in each round (4)
  --rounds N        how often each server is driven (3)
  --only NAMES      of ${parts.join(',')} these
  --against NAMES   these servers besides the service, with commas between
  --directory PATH  where the temporary databases are made: durable writes are as fast as its disk
  --markdown        print tables as Markdown
  --help            print this
`

/** A mistake of whoever runs the bench. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** Null when help was asked for. */
export function readOptions(argv: readonly string[]): BenchOptions | null {
  const { values } = parse(argv)
  if (values.help) return null
  return {
    connections: positive('connections', values.connections),
    seconds: positive('seconds', values.seconds),
    rounds: positive('rounds', values.rounds),
    only: names(values.only),
    against: names(values.against),
    directory: values.directory,
    markdown: values.markdown,
  }
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

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        connections: { type: 'string', default: '32' },
        seconds: { type: 'string', default: '4' },
        rounds: { type: 'string', default: '3' },
        only: { type: 'string', default: '' },
        against: { type: 'string', default: '' },
        directory: { type: 'string' },
        markdown: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError(errorMessage(error))
  }
}

function positive(flag: string, text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError(`--${flag} ${JSON.stringify(text)} is no number above 0`)
  return Number(text)
}

function names(text: string): string[] {
  return text.split(',').filter(name => name !== '')
}
