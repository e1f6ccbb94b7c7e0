import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { startServer } from '../server-process.ts'
import { renderTable } from '../table.ts'
import type { Latency } from './probe.ts'

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

const root = process.argv.find(argument => argument.startsWith('--root='))?.slice('--root='.length)
const only = process.argv.find(argument => argument.startsWith('--only='))?.slice('--only='.length)
const kinds = only ? KINDS.filter(([name]) => only.split(',').includes(name)) : KINDS
const program = resolve(root ?? join(import.meta.dir, '../..'), 'src/cli.ts')
const folder = mkdtempSync(join(tmpdir(), 'stockroom-bench-'))
const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort())
try {
  await using model = await startModelServer(openaiChat)
  await using server = await startServer(
    {
      name: 'stockroom chat',
      command: [process.execPath, program, 'chat', '--host', '127.0.0.1', '--port', '0', '--access-log', 'off'],
      directory: folder,
      environment: { DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`, ...model.environment },
    },
    interrupted.signal,
  )
  await answers('warm', 40, '```ts\nlet a = 1\n')
  const rows: string[][] = []
  for (const [name, start, repeated] of kinds) {
    const text = (start + repeated.repeat(CHARACTERS / repeated.length)).slice(0, CHARACTERS)
    const probe = new Worker(new URL('probe.ts', import.meta.url))
    probe.postMessage({ address: server.address, processId: server.processId })
    const begun = performance.now()
    const cpu = server.processorSeconds() ?? Number.NaN
    const events = await answers(name, PIECES, text)
    const seconds = (performance.now() - begun) / 1000
    const used = (server.processorSeconds() ?? Number.NaN) - cpu
    const latencies = await new Promise<Latency[]>(resolve => {
      probe.onmessage = ({ data }) => resolve(data)
      probe.postMessage('over')
    })
    probe.terminate()
    const clock = latencies.map(latency => latency.clock).sort((one, other) => one - other)
    const work = latencies.map(latency => latency.work).sort((one, other) => one - other)
    rows.push([
      name,
      at(clock, 0.5),
      at(clock, 0.99),
      at(work, 0.5),
      at(work, 0.99),
      at(work, 1),
      (used / seconds).toFixed(2),
      String(events),
    ])
  }
  const columns = ['one block of', 'median ms', 'p99 ms', 'work: median', 'p99', 'most', 'cores', 'events']
  const title = `/healthz while ${ANSWERS} answers of ${CHARACTERS.toLocaleString('en')} characters come in ${PIECES} pieces each, every ${PIECE_MS} ms`
  const note =
    'Each answer has one listener. Work: milliseconds that the server’s thread worked between a request and its answer, which is the time that it would take on a quiet machine, or more. Cores: processor time of the server, with compression, by the clock’s.'
  console.log(renderTable({ title, columns, rows, note }, process.argv.includes('--markdown') ? 'markdown' : 'plain'))

  async function answers(name: string, pieces: number, text: string): Promise<number> {
    const counts = await Promise.all(Array.from({ length: ANSWERS }, () => answer(name, pieces, text)))
    return Math.round(counts.reduce((one, other) => one + other) / ANSWERS)
  }

  async function answer(name: string, pieces: number, text: string): Promise<number> {
    const path = `${server.address}/chat/${crypto.randomUUID()}`
    await fetch(path, { method: 'POST', body: new URLSearchParams({ user_prompt: name }) })
    const listening = fetch(path.replace('/chat/', '/chatstream/'), {
      headers: { 'Accept-Encoding': 'br' },
      decompress: false,
    })
    const call = await model.nextCall()
    const reading = listening.then(async response => {
      let reads = 0
      for await (const _ of response.body ?? []) reads += 1
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
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function at(sorted: readonly number[], part: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN).toFixed(1)
}
