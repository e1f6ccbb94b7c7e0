import type { SeededDatabase } from '../catalog/bench.ts'
import { pinned, service } from '../catalog/servers.ts'
import { type Durations, durationsOf } from '../durations.ts'
import { drive, prepareLoad, type RequestKind } from '../load-generator.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import type { Version } from '../stockroom.ts'
import { stopwatch } from '../stopwatch.ts'
import { ask, untilSearchable } from './asking.ts'
import { type CatalogFiles, productLines, USERS } from './catalog-files.ts'
import { randomNumbers } from './random.ts'
import { searches } from './requests.ts'

/** Different bodies, so that updates rarely store what is already there. */
const BODIES = 1_000
const PATHS_MAX = 100_000

/** Because wrk needs bodies of one length. */
const NAME_CHARACTERS = 24
const DESCRIPTION_CHARACTERS = 160

/** A version, and a database that it has filled. */
export interface Writer {
  readonly version: Version
  readonly database: SeededDatabase
}

export interface WriterPressure {
  readonly turns: number
  readonly seconds: number
  readonly connections: number
  readonly searchesPerSecond: number
}

/** One turn of one server. */
export interface WriterTurn {
  readonly perSecond: number
  readonly processorMicroseconds: number | null
}

/** The turns of one kind of write; turns at the same place were measured right after each other. */
export interface WriterFigures {
  readonly title: string
  /** Null if there is no earlier version. */
  readonly before: readonly WriterTurn[] | null
  readonly quiet: readonly WriterTurn[]
  readonly beside: readonly WriterTurn[]
  /** The searches that were sent beside the writes. */
  readonly searched: { readonly durations: Durations; readonly refused: number }
  /** The first search after writes that nobody searched beside: how far behind the index was, in milliseconds. */
  readonly behind: Durations
}

/** Measures creates and updates with nobody searching and beside searches, and of an earlier version, in turns. */
export async function measureWriters(
  now: Writer,
  before: Writer | null,
  files: CatalogFiles,
  folder: string,
  { turns, seconds, connections, searchesPerSecond }: WriterPressure,
  interrupted: AbortSignal,
): Promise<WriterFigures[]> {
  await using stack = new AsyncDisposableStack()
  const start = async ({ version, database }: Writer) => {
    const copy = stack.use(await database.copy(true))
    return stack.use(await startServer(pinned(service(version)).on(copy.address), interrupted))
  }
  const servers = { now: await start(now), before: before && (await start(before)) }
  const nextSearch = searches(files)
  const figures: WriterFigures[] = []
  for (const { name, title, kind } of writes(files)) {
    console.error(`  ${name}`)
    const load = await prepareLoad(folder, { name, kinds: [kind], once: false })
    const driven = async (server: RunningServer, seed: number): Promise<WriterTurn> => {
      const processorTime = stopwatch(server.processorSeconds)
      const pressure = { connections, seconds, seed, pinned: true }
      const { requests, requestsPerSecond } = await drive(server.address, load, pressure, interrupted)
      const used = processorTime()
      return { perSecond: requestsPerSecond, processorMicroseconds: used && (used * 1e6) / requests }
    }

    const early: WriterTurn[] = []
    const quiet: WriterTurn[] = []
    const beside: WriterTurn[] = []
    const found: { milliseconds: number; isRefused: boolean }[] = []
    const behind: number[] = []
    for (let turn = 0; turn <= turns; turn++) {
      const measures = [
        async () => servers.before && early.push(await driven(servers.before, turn)),
        async () => {
          quiet.push(await driven(servers.now, turn))
          behind.push((await untilSearchable(servers.now.address, interrupted)) * 1e3)
        },
        async () => {
          await using searching = startSearching(servers.now.address, nextSearch, searchesPerSecond)
          beside.push(await driven(servers.now, turn))
          found.push(...searching.found)
        },
      ]
      // Rotated, so that position favors nobody.
      for (const place of measures.keys()) await measures[(place + turn) % measures.length]?.()
      // The first turn warms the servers up.
      if (turn === 0) for (const list of [early, quiet, beside, found, behind]) list.splice(0)
    }
    const answered = found.filter(({ isRefused }) => !isRefused).map(({ milliseconds }) => milliseconds)
    figures.push({
      title,
      before: servers.before && early,
      quiet,
      beside,
      searched: { durations: durationsOf(answered), refused: found.length - answered.length },
      behind: durationsOf(behind),
    })
  }
  return figures
}

/** Sends searches at a steady rate, however long their answers take, until it is disposed of. */
function startSearching(address: string, next: () => string, perSecond: number) {
  const found: { milliseconds: number; isRefused: boolean }[] = []
  const open = new Set<Promise<void>>()
  const search = async () => {
    const { status, milliseconds } = await ask(address, next())
    found.push({ milliseconds, isRefused: status !== 200 })
  }
  const timer = setInterval(() => {
    const searching = search().finally(() => open.delete(searching))
    open.add(searching)
  }, 1000 / perSecond)
  return {
    found,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await Promise.all(open)
    },
  }
}

interface Write {
  readonly name: string
  readonly title: string
  readonly kind: RequestKind
}

function writes(files: CatalogFiles): Write[] {
  const products = bodies(productBody(files))
  const reviews = bodies(place => ({
    product_id: sameLength(place * 7_919, files.products),
    user_id: sameLength(place * 31, USERS),
    rating: 1 + (place % 5),
    comment: 'A review that a measurement wrote.',
  }))
  const ids = (path: string, most: number) => {
    const step = Math.max(1, Math.floor(most / PATHS_MAX))
    return Array.from({ length: Math.floor(most / step) }, (_, place) => `${path}${1 + place * step}`)
  }
  const kind = (method: string, paths: string[], bodies: string[]): RequestKind => {
    return { method, paths, bodies, share: 100 }
  }
  return [
    { name: 'create-product', title: 'Create a product', kind: kind('POST', ['/products/'], products) },
    {
      name: 'update-product',
      title: 'Update a product',
      kind: kind('PUT', ids('/products/', files.products), products),
    },
    { name: 'create-review', title: 'Create a review', kind: kind('POST', ['/reviews/'], reviews) },
    { name: 'update-review', title: 'Update a review', kind: kind('PATCH', ids('/reviews/', files.reviews), reviews) },
  ]
}

/** Texts like those of the catalog, cut to one length. */
function productBody({ words }: CatalogFiles): (place: number) => object {
  const line = productLines(words, randomNumbers(11))
  return place => {
    const { name, description } = line(place)
    return {
      name: name.slice(0, NAME_CHARACTERS).padEnd(NAME_CHARACTERS, ' s'),
      description: description.slice(0, DESCRIPTION_CHARACTERS).padEnd(DESCRIPTION_CHARACTERS, ' and more'),
      price: 1_000 + place + 0.25,
    }
  }
}

function bodies(body: (place: number) => object): string[] {
  return Array.from({ length: BODIES }, (_, place) => JSON.stringify(body(place)))
}

/** A number up to `most` that has as many digits as all others: wrk needs bodies of one length. */
function sameLength(place: number, most: number): number {
  const least = 10 ** (String(most).length - 2)
  return least + (place % (9 * least))
}
