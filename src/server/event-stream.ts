import { type Clock, pause, systemClock } from '../clock.ts'
import { logFailure } from './errors.ts'
import { contentCoding, type EventCompressor, eventCompressor } from './event-compression.ts'
import type { RequestScope } from './requests.ts'

/** A stream that is silent for so long gets a comment, so that nothing on the way takes it for dead (WHATWG's figure). */
const KEEP_ALIVE_MS = 15_000
/** The runtime sends the headers with the first bytes, and a client should know soon that it is connected. */
const FIRST_BYTES_MS = 1_000

/** One event as the page listens for it; `chunk` is HTML. */
export interface ServerSentEvent {
  readonly name: string
  readonly chunk: string
  /** What a browser is to say in `Last-Event-ID` when it connects again: a frame of its own, right behind the event. */
  readonly id?: number
}

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // For nginx, which would hold events back until its buffer is full.
  'X-Accel-Buffering': 'no',
  Vary: 'Accept-Encoding',
}

const KEEP_ALIVE = ':\n\n'

/**
 * Answers with a stream of events, compressed if the client takes it, and each sent as it comes.
 *
 * The source is asked for an event only when the client has taken the one before, so that it may offer a slow reader the
 * newest state alone, and nothing waits in memory. When the client leaves, the source's signal is aborted and the source
 * is returned. When the source fails, the connection is cut, so that nobody takes the stream for a whole one.
 */
export function eventStream(
  request: Request,
  { server, requestId }: RequestScope,
  events: (left: AbortSignal) => AsyncIterable<ServerSentEvent>,
  clock: Clock = systemClock,
): Response {
  // The server cuts connections on which nothing happens, and a stream may be slow.
  server.timeout(request, 0)
  const coding = contentCoding(request.headers.get('Accept-Encoding'))
  const leaving = new AbortController()
  const source = events(leaving.signal)[Symbol.asyncIterator]()
  let compressor: EventCompressor | undefined
  let next: Promise<IteratorResult<ServerSentEvent>> | undefined
  let silenceMs = FIRST_BYTES_MS
  let waiting = new AbortController()

  const stop = () => {
    if (leaving.signal.aborted) return
    leaving.abort()
    waiting.abort()
    compressor?.[Symbol.dispose]()
    source.return?.().catch(error => logFailure(error, requestId))
  }

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    // Only now, as the answer to a HEAD request is never read.
    compressor ??= eventCompressor(coding)
    next ??= source.next()
    waiting = new AbortController()
    const result = await Promise.race([next, pause(clock, silenceMs, waiting.signal)])
    waiting.abort()
    if (leaving.signal.aborted) return
    silenceMs = KEEP_ALIVE_MS
    if (result) next = undefined
    const bytes = result?.done
      ? await compressor.end()
      : await compressor.event(result ? framesOf(result.value) : KEEP_ALIVE)
    if (leaving.signal.aborted) return
    if (bytes.length > 0) controller.enqueue(bytes)
    if (!result?.done) return
    stop()
    controller.close()
  }

  request.signal.addEventListener('abort', stop, { once: true })
  const body = new ReadableStream<Uint8Array>(
    {
      pull: controller =>
        pull(controller).catch(error => {
          if (leaving.signal.aborted) return
          stop()
          logFailure(error, requestId)
          // Without the error, which the runtime would print.
          controller.error()
        }),
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: coding === 'identity' ? HEADERS : { ...HEADERS, 'Content-Encoding': coding } })
}

/**
 * The frames of an event (WHATWG HTML, 9.2.6). A chunk stays one line: a line break in it would begin another field, so it
 * is written as the character reference that stands for it in HTML.
 */
function framesOf({ name, chunk, id }: ServerSentEvent): string {
  const event = `event: ${name}\ndata: ${chunk.replaceAll(/\r\n|\r|\n/g, '&#10;')}\n\n`
  return id === undefined ? event : `${event}id: ${id}\n\n`
}
