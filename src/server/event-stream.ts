import { type Clock, pause, systemClock } from '../clock.ts'
import { contentCoding, eventCompressor } from './event-compression.ts'
import type { RequestScope } from './requests.ts'

/** A stream that is silent for so long gets a comment, so that nothing on the way takes it for dead (WHATWG's figure). */
const KEEP_ALIVE_MS = 15_000
/** The runtime sends the headers with the first bytes, and a client should know soon that it is connected. */
const FIRST_BYTES_MS = 1_000

/** One event as the page listens for it; `chunk` is HTML. */
interface ServerSentEvent {
  readonly name: string
  readonly chunk: string
}

/** A frame without an event: what a browser says in `Last-Event-ID` when it connects again. */
interface EventId {
  readonly id: number
}

export type Frame = ServerSentEvent | EventId

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // For nginx, which would hold events back until its buffer is full.
  'X-Accel-Buffering': 'no',
  Vary: 'Accept-Encoding',
}

const KEEP_ALIVE = ':\n\n'

/**
 * One frame of a stream (WHATWG HTML, 9.2.6). A chunk stays one line: a line break in it would begin another field, so it
 * is written as the character reference that stands for it in HTML.
 */
function frameText(frame: Frame): string {
  if ('id' in frame) return `id: ${frame.id}\n\n`
  return `event: ${frame.name}\ndata: ${frame.chunk.replaceAll(/\r\n|\r|\n/g, '&#10;')}\n\n`
}

/**
 * Answers with a stream of frames, compressed if the client takes it, and each sent as it comes.
 *
 * The source is asked for a frame only when the client has taken the one before, so that it may offer a slow reader the
 * newest state alone, and nothing waits in memory. When the client leaves, the source's signal is aborted, and it should end.
 */
export function eventStream(
  request: Request,
  { server }: RequestScope,
  frames: (left: AbortSignal) => AsyncIterable<Frame>,
  clock: Clock = systemClock,
): Response {
  // The server cuts connections on which nothing happens, and a stream may be slow.
  server.timeout(request, 0)
  const coding = contentCoding(request.headers.get('Accept-Encoding'))
  const compressor = eventCompressor(coding)
  const leaving = new AbortController()
  const leave = () => {
    leaving.abort()
    compressor[Symbol.dispose]()
  }
  request.signal.addEventListener('abort', leave, { once: true })
  const texts = withKeepAlive(frames(leaving.signal), clock, leaving.signal)
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await texts.next()
        const bytes = done ? await compressor.end() : await compressor.event(value)
        if (bytes.length > 0) controller.enqueue(bytes)
        if (done) {
          leave()
          controller.close()
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: coding === 'identity' ? HEADERS : { ...HEADERS, 'Content-Encoding': coding } })
}

/** The frames' text, and a comment whenever none has come for a while. */
async function* withKeepAlive(frames: AsyncIterable<Frame>, clock: Clock, left: AbortSignal): AsyncGenerator<string> {
  const source = frames[Symbol.asyncIterator]()
  try {
    let silenceMs = FIRST_BYTES_MS
    for (let next = source.next(); !left.aborted; silenceMs = KEEP_ALIVE_MS) {
      const waited = new AbortController()
      const silence = pause(clock, silenceMs, AbortSignal.any([left, waited.signal]))
      const result = await Promise.race([next, silence])
      waited.abort()
      if (left.aborted) return
      if (!result) yield KEEP_ALIVE
      else if (result.done) return
      else {
        yield frameText(result.value)
        next = source.next()
      }
    }
  } finally {
    await source.return?.()
  }
}
