import { tmpdir } from 'node:os'
import { startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { runBench, temporaryFolder } from '../command.ts'
import { ANSWER_CHARACTERS } from '../markdown/answer.ts'
import { WORKING_TREE } from '../stockroom.ts'
import { renderTable } from '../table.ts'
import { measureAnswer, PIECES, startChat } from './measurement.ts'

/** Values of `Accept-Encoding`. */
const CODINGS = ['br', 'zstd', 'gzip', 'identity']

process.exitCode = await runBench(
  () => process.argv,
  run,
  () => false,
)

async function run(argv: readonly string[], interrupted: AbortSignal): Promise<void> {
  await using folder = await temporaryFolder(tmpdir())
  await using model = await startModelServer(openaiChat)
  await using server = await startChat(WORKING_TREE, folder.path, model, interrupted)
  // The first answer warms the server up.
  await measureAnswer(server, model, 'identity')
  const rows: string[][] = []
  for (const coding of CODINGS) {
    const { wire, processorSeconds } = await measureAnswer(server, model, coding)
    const { wireBytes, htmlBytes, events, eventBytes } = await sizes(wire, coding)
    rows.push([
      coding,
      count(events),
      count(eventBytes),
      count(wireBytes),
      (wireBytes / htmlBytes).toFixed(2),
      processorSeconds === null ? '' : ((processorSeconds * 1e3) / PIECES.length).toFixed(3),
    ])
  }
  const columns = ['coding', 'events', 'bytes of events', 'bytes on the wire', '÷ final HTML', 'CPU ms for a piece']
  const title = `An answer of ${count(ANSWER_CHARACTERS)} characters in ${count(PIECES.length)} pieces, to one listener`
  const note =
    'Each piece is sent when the event of the one before has arrived. The CPU is that of the whole server: the model’s wire, rendering, storage, compression.'
  console.log(renderTable({ title, columns, rows, note }, argv.includes('--markdown') ? 'markdown' : 'plain'))
}

async function sizes(wire: Buffer<ArrayBuffer>, coding: string) {
  const text = (await decoded(wire, coding)).toString()
  const last = /^event: Response\ndata: (.*)\n\nevent: Terminate\n/m.exec(
    text.slice(text.lastIndexOf('event: Response')),
  )
  const html = (last?.[1] ?? '').replace(/^<div[^>]*>/, '').replace(/<\/div>$/, '')
  if (html === '') throw new Error(`the stream has no end: ${text.slice(-300)}`)
  return {
    wireBytes: wire.length,
    eventBytes: Buffer.byteLength(text),
    events: text.split('event: Response\n').length - 1,
    htmlBytes: Buffer.byteLength(html),
  }
}

async function decoded(wire: Buffer<ArrayBuffer>, coding: string): Promise<Buffer> {
  const { brotliDecompressSync, gunzipSync, zstdDecompressSync } = await import('node:zlib')
  if (coding === 'br') return brotliDecompressSync(wire)
  if (coding === 'zstd') return zstdDecompressSync(wire)
  return coding === 'gzip' ? gunzipSync(wire) : wire
}

function count(number: number): string {
  return number.toLocaleString('en')
}
