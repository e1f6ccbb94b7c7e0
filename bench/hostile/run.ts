import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type ModelServer, startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { askChat, type RunningChat, startChat } from '../chat/measurement.ts'
import { runBench, temporaryFolder } from '../command.ts'
import { watchHealth } from '../health.ts'
import { names, parsed } from '../options.ts'
import { WORKING_TREE } from '../stockroom.ts'
import { renderTable } from '../table.ts'

const ANSWERS = 4
const CHARACTERS = 60_000
const PIECE_MS = 10
const PIECES = 400

/** Each is repeated, in one block that never ends. */
const KINDS: readonly (readonly [name: string, start: string, repeated: string])[] = [
  ['an ordinary paragraph', '', 'word **word** word '],
  ['brackets', '', '['],
  ['image brackets', '', '!['],
  ['bare addresses', '', 'https://'],
  ['bare addresses, apart', '', 'https://a '],
  ['cells without a table', '', '|a'],
  ['a table', '|a|b|\n|-|-|\n', '|c|d|\n'],
  ['a wide table', `${'|a'.repeat(600)}|\n${'|-'.repeat(600)}|\n`, '|\n'],
  ['quotes', '', '> '],
  ['quoted lines', '', '> a\n'],
  ['a list', '', '* a\n'],
  ['lists in lists', '', '* * * * * a\n'],
  ['backticks', '', '`a '],
  ['underscores', '', '_a '],
  ['unfinished definitions', '', '[a\n'],
  ['a line of code', '```ts\n', 'a=1;'],
  ['lines of code', '```ts\n', 'const a = `b` // c\n'],
]

process.exitCode = await runBench(readOptions, run, () => false)

async function run({ only, root, markdown }: ReturnType<typeof readOptions>, interrupted: AbortSignal): Promise<void> {
  await using folder = await temporaryFolder(tmpdir())
  await using model = await startModelServer(openaiChat)
  const version = { ...WORKING_TREE, ...(root !== undefined && { root: resolve(root) }) }
  await using server = await startChat(version, folder.path, model, interrupted)
  await answers(server, model, 40, '```ts\nlet a = 1\n')
  const rows: string[][] = []
  for (const [name, start, repeated] of KINDS.filter(([name]) => only.length === 0 || only.includes(name))) {
    const text = (start + repeated.repeat(CHARACTERS / repeated.length)).slice(0, CHARACTERS)
    const health = await watchHealth(server)
    const begun = performance.now()
    const cpu = server.processorSeconds() ?? Number.NaN
    const events = await answers(server, model, PIECES, text)
    const seconds = (performance.now() - begun) / 1000
    const used = (server.processorSeconds() ?? Number.NaN) - cpu
    const { clock, work } = await health.waits()
    rows.push([
      name,
      ...[clock.median, clock.p99, work.median, work.p99, work.worst].map(waited => waited.toFixed(1)),
      (used / seconds).toFixed(2),
      String(events),
    ])
  }
  const columns = ['one block of', 'median ms', 'p99 ms', 'work: median', 'p99', 'most', 'cores', 'events']
  const title = `/healthz while ${ANSWERS} answers of ${CHARACTERS.toLocaleString('en')} characters come in ${PIECES} pieces each, every ${PIECE_MS} ms`
  const note =
    'Each answer has one listener. Work: milliseconds that the server’s thread worked between a request and its answer, which is the time that it would take on a quiet machine, or more. Cores: processor time of the server, with compression, by the clock’s.'
  console.log(renderTable({ title, columns, rows, note }, markdown ? 'markdown' : 'plain'))
}

/** The number of reads that an answer took its listener, on average. */
async function answers(server: RunningChat, model: ModelServer, pieces: number, text: string): Promise<number> {
  const counts = await Promise.all(Array.from({ length: ANSWERS }, () => answer(server, model, pieces, text)))
  return Math.round(counts.reduce((one, other) => one + other) / ANSWERS)
}

async function answer(server: RunningChat, model: ModelServer, pieces: number, text: string): Promise<number> {
  const { response, call } = await askChat(server, model, 'br')
  const reading = response.then(async ({ body }) => {
    let reads = 0
    for await (const _ of body ?? []) reads += 1
    return reads
  })
  const size = Math.ceil(text.length / pieces)
  let due = performance.now()
  for (let start = 0; start < text.length; start += size) {
    await call.send(text.slice(start, start + size))
    due += PIECE_MS
    await Bun.sleep(Math.max(0, due - performance.now()))
  }
  await call.finish()
  return reading
}

function readOptions() {
  const { values } = parsed(() =>
    parseArgs({
      options: {
        only: { type: 'string', default: '' },
        root: { type: 'string' },
        markdown: { type: 'boolean', default: false },
      },
    }),
  )
  return { ...values, only: names(values.only) }
}
