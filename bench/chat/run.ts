import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { type RunningServer, startServer } from '../server-process.ts'
import { renderTable } from '../table.ts'
import { longAnswer, piecesOf } from './answer.ts'

const ANSWER_CHARACTERS = 16_000

/** As clients send it in `Accept-Encoding`. */
const CODINGS = ['br', 'zstd', 'gzip', 'identity']

const PROGRAM = [process.execPath, resolve(import.meta.dir, '../../src/cli.ts')]

const pieces = piecesOf(longAnswer(ANSWER_CHARACTERS))
const folder = mkdtempSync(join(tmpdir(), 'stockroom-bench-'))
const interrupted = new AbortController()
process.once('SIGINT', () => interrupted.abort())
try {
  await using model = await startModelServer(openaiChat)
  await using server = await startServer(
    {
      name: 'stockroom chat',
      command: [...PROGRAM, 'chat', '--host', '127.0.0.1', '--port', '0', '--access-log', 'off'],
      directory: folder,
      environment: {
        STREAMS_PER_ADDRESS: '100000',
        DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`,
        ...model.environment,
      },
    },
    interrupted.signal,
  )
  // The first answer loads and compiles what the others then use.
  await measure(server, 'identity')
  const rows: string[][] = []
  for (const coding of CODINGS) {
    const { wireBytes, htmlBytes, events, eventBytes, processorMs } = await measure(server, coding)
    rows.push([
      coding,
      count(events),
      count(eventBytes),
      count(wireBytes),
      (wireBytes / htmlBytes).toFixed(2),
      (processorMs / pieces.length).toFixed(3),
    ])
  }
  const columns = ['coding', 'events', 'bytes of events', 'bytes on the wire', '÷ final HTML', 'CPU ms for a piece']
  const title = `An answer of ${count(ANSWER_CHARACTERS)} characters in ${count(pieces.length)} pieces, to one listener`
  const note =
    'Each piece is sent when the event of the one before has arrived. The CPU is that of the whole server: the model’s wire, rendering, storage, compression.'
  console.log(renderTable({ title, columns, rows, note }, process.argv.includes('--markdown') ? 'markdown' : 'plain'))

  async function measure(running: RunningServer, coding: string) {
    const path = `${running.address}/chat/${crypto.randomUUID()}`
    await fetch(path, { method: 'POST', body: new URLSearchParams({ user_prompt: 'Tell me about shelves' }) })
    const begun = running.processorSeconds() ?? Number.NaN
    const listening = fetch(path.replace('/chat/', '/chatstream/'), {
      headers: { 'Accept-Encoding': coding },
      decompress: false,
    })
    const call = await model.nextCall()
    const wire: Uint8Array[] = []
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    for (const piece of pieces) {
      await call.send(piece)
      reader ??= (await listening).body?.getReader()
      const read = await reader?.read()
      if (read?.value) wire.push(read.value)
    }
    await call.finish()
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) wire.push(read.value)
    const processorMs = ((running.processorSeconds() ?? Number.NaN) - begun) * 1000
    return { ...(await sizes(Buffer.concat(wire), coding)), processorMs }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
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
