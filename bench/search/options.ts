import { parseArgs } from 'node:util'
import { names, parsed, UsageError } from '../options.ts'
import type { Engine } from './requests.ts'

export const PARTS = ['requests', 'writers', 'feed', 'peers'] as const
export type Part = (typeof PARTS)[number]

export interface SearchOptions {
  readonly products: number
  readonly engines: readonly Engine[]
  readonly parts: readonly Part[]
  /** Names of groups of requests; all if empty. */
  readonly groups: readonly string[]
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly searchesPerSecond: number
  readonly followers: number
  readonly changesPerSecond: number
  readonly revision: string | null
  readonly directory: string | undefined
  readonly markdown: boolean
  readonly report: boolean
}

const ENGINES: Readonly<Record<string, Engine>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' }

const HELP = `Usage: npm run bench -- search [OPTION ...]

  --products N        products in the catalog, and as many reviews (1000000)
  --engines NAMES     some of ${Object.keys(ENGINES).join(',')}
  --only PARTS        some of ${PARTS.join(',')}
  --requests NAMES    some kinds of requests, such as typed-names,facets
  --rounds N          times that each request is measured, and turns of each writer (3)
  --seconds N         seconds of each turn of writers; twice as many of the feed (5)
  --connections N     connections of the writers (32)
  --searches N        searches per second beside writers (10)
  --followers N       followers of the feed (10000)
  --changes N         changes per second that they follow (2)
  --against REVISION  compare writers with this version, for example the last one without search
  --directory PATH    folder for the temporary databases; a million products take 10 GB
  --markdown          print tables as Markdown
  --report            write docs/performance/search.md with the tables of all runs of this commit
  --help              print this text
`

/** Prints help and returns null if `--help` was given. */
export function readSearchOptions(): SearchOptions | null {
  const values = read()
  if (values.help) {
    process.stdout.write(HELP)
    return null
  }
  const number = (flag: keyof typeof values, most = 10_000_000) => {
    const text = String(values[flag])
    if (!/^[1-9]\d{0,7}$/.test(text) || Number(text) > most) {
      throw new UsageError(`--${flag} ${JSON.stringify(text)} is not a whole number from 1 to ${most}`)
    }
    return Number(text)
  }
  const products = number('products')
  if (products < 1_000) throw new UsageError(`${products} products: give 1000 or more`)
  const engines = names(values.engines).map(name => {
    const engine = ENGINES[name]
    if (!engine) throw new UsageError(`unknown engine ${name}; the engines are ${Object.keys(ENGINES).join(', ')}`)
    return engine
  })
  const parts = names(values.only).map(name => {
    const part = PARTS.find(known => known === name)
    if (!part) throw new UsageError(`unknown part ${name}; the parts are ${PARTS.join(', ')}`)
    return part
  })
  return {
    products,
    engines: engines.length > 0 ? engines : Object.values(ENGINES),
    parts: parts.length > 0 ? parts : PARTS,
    groups: names(values.requests),
    rounds: number('rounds', 100),
    seconds: number('seconds', 600),
    connections: number('connections', 10_000),
    searchesPerSecond: number('searches', 1_000),
    followers: number('followers', 20_000),
    changesPerSecond: number('changes', 1_000),
    revision: values.against ?? null,
    directory: values.directory,
    markdown: values.markdown,
    report: values.report,
  }
}

function read() {
  return parsed(() =>
    parseArgs({
      options: {
        products: { type: 'string', default: '1000000' },
        engines: { type: 'string', default: '' },
        only: { type: 'string', default: '' },
        requests: { type: 'string', default: '' },
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '5' },
        connections: { type: 'string', default: '32' },
        searches: { type: 'string', default: '10' },
        followers: { type: 'string', default: '10000' },
        changes: { type: 'string', default: '2' },
        against: { type: 'string' },
        directory: { type: 'string' },
        markdown: { type: 'boolean', default: false },
        report: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }),
  ).values
}
