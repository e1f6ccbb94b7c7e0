import { getLogger } from '@logtape/logtape'
import { type Clock, pause, systemClock } from '../clock.ts'
import { addressKey } from './client-address.ts'
import { logFailure } from './errors.ts'
import { type EventCompressor, eventCoding, eventCompressor } from './event-compression.ts'
import type { RequestScope } from './requests.ts'

const log = getLogger(['stockroom', 'server'])

/** A stream that is silent for so long gets a comment, so that nothing on the way takes it for dead (WHATWG's figure). */
const KEEP_ALIVE_MS = 15_000
/** The runtime sends the headers with the first bytes, and a client should know soon that it is connected. */
const FIRST_BYTES_MS = 1_000
/** A reader that has taken nothing for so long is cut. */
const STALLED_MS = 60_000
/** What a connection that is cut may still take to close. */
const CUT_SECONDS = 1

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
 * is returned. When the source fails, the connection is cut, so that nobody takes the stream for a whole one. It is cut, too, when the
 * client takes nothing for a minute. A client that has as many streams as it may is refused by an `HttpError` 429.
 */
export function eventStream(
  request: Request,
  scope: RequestScope,
  events: (left: AbortSignal) => AsyncIterable<ServerSentEvent>,
  clock: Clock = systemClock,
): Response {
  const { server, requestId } = scope
  // The answer to HEAD is never read, so it would never end.
  const uncount = scope.isHead ? () => {} : scope.streams.begin(addressKey(scope.clientAddress))
  // The server cuts connections on which nothing happens, and a stream may be slow.
  server.timeout(request, 0)
  const coding = eventCoding(request.headers.get('Accept-Encoding'))
  const leaving = new AbortController()
  const source = events(leaving.signal)[Symbol.asyncIterator]()
  let compressor: EventCompressor | undefined
  let next: Promise<IteratorResult<ServerSentEvent>> | undefined
  let silenceMs = FIRST_BYTES_MS
  let waiting = new AbortController()
  let isTaken = () => {}

  const stop = () => {
    if (leaving.signal.aborted) return
    leaving.abort()
    waiting.abort()
    isTaken()
    uncount()
    compressor?.[Symbol.dispose]()
    source.return?.().catch(error => logFailure(error, requestId))
  }

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    isTaken()
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
    if (!result?.done) {
      // The next pull comes when the client has taken this.
      isTaken = clock.after(STALLED_MS, () => {
        log.debug('an event stream is cut: its client has stopped reading', { request_id: requestId })
        cut(controller)
      })
      return
    }
    stop()
    controller.close()
    // The client has still to take the end.
    server.timeout(request, STALLED_MS / 1_000)
  }

  const cut = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    stop()
    // Else the connection of a client that does not read would stay open until it does.
    server.timeout(request, CUT_SECONDS)
    // Without an error, which the runtime would print.
    controller.error()
  }

  request.signal.addEventListener('abort', stop, { once: true })
  const body = new ReadableStream<Uint8Array>(
    {
      pull: controller =>
        pull(controller).catch(error => {
          if (leaving.signal.aborted) return
          logFailure(error, requestId)
          cut(controller)
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
