import { type Clock, systemClock, within } from '../clock.ts'
import { byteStream } from './byte-stream.ts'
import { addressKey } from './client-address.ts'
import type { Compressors, StreamCoding } from './compressors.ts'
import type { RequestScope } from './requests.ts'

/** After this much silence the stream sends a comment, so that no proxy takes it for dead (the interval that WHATWG suggests). */
const KEEP_ALIVE_MS = 15_000
/** The runtime sends the headers with the first bytes, and a client should learn soon that it is connected. */
const FIRST_BYTES_MS = 1_000

/** One event as the page listens for it; `chunk` is HTML. */
export interface ServerSentEvent {
  readonly name: string
  readonly chunk: string
  /** Sent in a frame of its own right after the event. A browser repeats it in `Last-Event-ID` when it reconnects. */
  readonly id?: number | string
}

/** The headers of every stream of events. */
export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // Otherwise nginx would hold events back until its buffer is full.
  'X-Accel-Buffering': 'no',
}

const HEADERS = { ...EVENT_STREAM_HEADERS, Vary: 'Accept-Encoding' }

const KEEP_ALIVE = ':\n\n'

/**
 * Responds with a stream of events, compressed if the client accepts it, and flushed after each event.
 *
 * The source is asked for an event only after the client has read the one before. So a source may skip states that a slow client
 * would be too late for. It gets a signal that is aborted when the stream ends, for example because the client has left. Throws
 * an `HttpError` 429 for a client with too many streams.
 */
export function eventStream(
  scope: RequestScope,
  events: (ended: AbortSignal) => AsyncIterable<ServerSentEvent>,
  clock: Clock = systemClock,
): Response {
  const { clients, eventCompressors } = scope.streaming
  const coding = eventCompressors.coding(scope.request.headers.get('Accept-Encoding'))
  const counted = clients.open(addressKey(scope.clientAddress))
  const body = byteStream(scope, ended => bytesOf(orSilence(events(ended), clock), eventCompressors, coding), counted)
  return new Response(body, { headers: coding === 'identity' ? HEADERS : { ...HEADERS, 'Content-Encoding': coding } })
}

/** Yields the events, and `null` whenever the source has been silent for some time. */
async function* orSilence(
  events: AsyncIterable<ServerSentEvent>,
  clock: Clock,
): AsyncGenerator<ServerSentEvent | null, void> {
  const source = events[Symbol.asyncIterator]()
  try {
    let next = source.next()
    for (let silenceMs = FIRST_BYTES_MS; ; silenceMs = KEEP_ALIVE_MS) {
      const result = await within(clock, silenceMs, next)
      if (result?.done) return
      yield result?.value ?? null
      if (result) next = source.next()
    }
  } finally {
    await source.return?.()
  }
}

/** Yields the bytes of each event, flushed from the compressor, so that the client can read all of it. */
async function* bytesOf(
  events: AsyncIterable<ServerSentEvent | null>,
  compressors: Compressors,
  coding: StreamCoding,
): AsyncGenerator<Uint8Array, void> {
  using compressor = compressors.open(coding)
  for await (const event of events) yield await compressor.piece(event ? framesOf(event) : KEEP_ALIVE)
  yield await compressor.end()
}

/**
 * The frames of an event (WHATWG HTML, 9.2.6). A line break in the chunk would begin another field, so it is sent as a
 * character reference, which means the same in HTML.
 */
function framesOf({ name, chunk, id }: ServerSentEvent): string {
  const event = `event: ${name}\ndata: ${chunk.replaceAll(/\r\n|\r|\n/g, '&#10;')}\n\n`
  return id === undefined ? event : `${event}id: ${id}\n\n`
}
