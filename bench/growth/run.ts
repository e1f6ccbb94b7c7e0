import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Rows } from '../catalog/seed.ts'
import { runBench, temporaryFolder } from '../command.ts'
import { UsageError } from '../options.ts'
import { type RunningServer, startServer, workMilliseconds } from '../server-process.ts'
import { median } from '../statistics.ts'
import { commandOf, WORKING_TREE } from '../stockroom.ts'
import { renderTable, type Table } from '../table.ts'
import { fillDatabase, sizesFor } from './filled-database.ts'
import { OPERATIONS, send } from './operations.ts'
import { readWholeList } from './whole-list.ts'

const HELP = `Usage: npm run bench -- growth [OPTION ...]

  --small N         products in the small catalog (10000), a multiple of 10000
  --large N         products in the large one (1000000)
  --requests N      requests of each operation to each server (200)
  --directory PATH  folder for the databases; a million products take 3 GB
  --markdown        print tables as Markdown
  --help            print this text
`

const PAGE_PATHS = ['/products/', '/reviews/', '/users/', '/categories/']

/** Times of one operation on one server, in microseconds. */
interface Figures {
  readonly first: number
  readonly firstWork: number
  readonly again: number
}

interface Filled extends AsyncDisposable {
  readonly sizes: Rows
  readonly server: RunningServer
  readonly startMilliseconds: number
}

process.exitCode = await runBench(readOptions, async (options, interrupted) => {
  await using folder = await temporaryFolder(options.directory ?? tmpdir())
  const show = (table: Table) => console.log(`${renderTable(table, options.markdown ? 'markdown' : 'plain')}\n`)
  const filled = async (products: number): Promise<Filled> => {
    const sizes = sizesFor(products)
    const path = join(folder.path, `${products}.db`)
    await fillDatabase(path, sizes, interrupted)
    const flags = ['--host', '127.0.0.1', '--port', '0', '--access-log', 'off']
    const command = commandOf(WORKING_TREE, 'serve', '--database', `sqlite:${path}`, ...flags)
    const begun = performance.now()
    const server = await startServer(
      { name: 'stockroom', command, directory: folder.path, environment: {} },
      interrupted,
    )
    const startMilliseconds = performance.now() - begun
    return { sizes, server, startMilliseconds, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }
  await using small = await filled(options.small)
  await using large = await filled(options.large)

  // Before anything else: what was read before must not count as growth.
  const lists: string[][] = []
  for (const path of PAGE_PATHS) {
    interrupted.throwIfAborted()
    const list = await readWholeList(large.server, `${path}?limit=1000000000`)
    lists.push([
      path,
      list.megabytes.toFixed(0),
      (list.megabytes / list.seconds).toFixed(0),
      (list.megabytes / list.processorSeconds).toFixed(0),
      list.memoryMebibytes.toFixed(0),
      list.waits.clock.p99.toFixed(1),
      list.waits.work.p99.toFixed(1),
    ])
  }

  const rows: string[][] = []
  for (const { name, request } of OPERATIONS) {
    interrupted.throwIfAborted()
    const [few, many] = await measured([small, large], options.requests, request)
    if (!few || !many) continue
    rows.push([
      name,
      ...[few.first, many.first, many.first / few.first].map(shown),
      ...[few.firstWork, many.firstWork, many.firstWork / few.firstWork].map(shown),
      ...[few.again, many.again, many.again / few.again].map(shown),
    ])
  }

  const counts = (of: Rows) =>
    `${of.products.toLocaleString('en')} products, ${of.reviews.toLocaleString('en')} reviews`
  show({
    title: `Operations with ${counts(small.sizes)}, and with ${counts(large.sizes)}`,
    columns: ['', 'first', 'large', 'ratio', 'work', 'large', 'ratio', 'again', 'large', 'ratio'],
    rows,
    note:
      'Median microseconds of a request, one at a time. First: of rows that were not read before. Work: what the server’s ' +
      'main thread worked for it, on average. Again: the same request a second time (no deletes).',
  })
  show({
    title: 'Lists of everything in the large catalog, read as fast as they come',
    columns: ['list', 'MB', 'MB/s', 'MB/CPU s', 'memory MiB', '/healthz p99 ms', 'p99 of work ms'],
    rows: lists,
    note: `Memory is the growth over what the server had before. Starting took ${small.startMilliseconds.toFixed(0)} ms with the small catalog, ${large.startMilliseconds.toFixed(0)} ms with the large one.`,
  })
})

/** Both servers in turns, so that other load on the machine disturbs both. */
async function measured(
  servers: readonly Filled[],
  requests: number,
  request: (typeof OPERATIONS)[number]['request'],
): Promise<Figures[]> {
  const samples = servers.map(() => ({ first: [0].slice(1), again: [0].slice(1), work: 0 }))
  for (let turn = 0; turn < requests; turn += 1) {
    for (const [place, { server, sizes }] of servers.entries()) {
      const sample = samples[place]
      if (!sample) continue
      const next = request(sizes, max => 1 + Math.floor(Math.random() * max))
      const work = workMilliseconds(server.processId)
      sample.first.push(await microseconds(() => send(server.address, next)))
      sample.work += (workMilliseconds(server.processId) - work) * 1000
      if (next.method !== 'DELETE') sample.again.push(await microseconds(() => send(server.address, next)))
    }
  }
  return samples.map(({ first, again, work }) => ({
    first: median(first),
    firstWork: work / requests,
    again: again.length > 0 ? median(again) : Number.NaN,
  }))
}

async function microseconds(work: () => Promise<void>): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) * 1000
}

function shown(value: number): string {
  if (Number.isNaN(value)) return ''
  return value < 10 ? value.toFixed(2) : value.toFixed(0)
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      small: { type: 'string', default: '10000' },
      large: { type: 'string', default: '1000000' },
      requests: { type: 'string', default: '200' },
      directory: { type: 'string' },
      markdown: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return null
  }
  const { small, large, requests } = values
  for (const products of [small, large]) {
    if (!/^[1-9]\d{0,4}0000$/.test(products)) throw new UsageError(`${products} products: give a multiple of 10000`)
  }
  if (!/^[1-9]\d{0,4}$/.test(requests)) throw new UsageError(`${requests} requests: give a whole number above 0`)
  return { ...values, small: Number(small), large: Number(large), requests: Number(requests) }
}
