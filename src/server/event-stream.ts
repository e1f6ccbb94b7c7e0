import { getLogger } from '@logtape/logtape'
import { type Clock, systemClock, within } from '../clock.ts'
import { addressKey } from './client-address.ts'
import type { StreamCoding, StreamCompressor } from './compressors.ts'
import { logFailure } from './errors.ts'
import type { RequestScope } from './requests.ts'

const log = getLogger(['stockroom', 'server'])

/** After this much silence the stream sends a comment, so that no proxy takes it for dead (the interval that WHATWG suggests). */
const KEEP_ALIVE_MS = 15_000
/** The runtime sends the headers with the first bytes, and a client should learn soon that it is connected. */
const FIRST_BYTES_MS = 1_000
/** A client that reads nothing for this long is cut off. */
const STALLED_MS = 60_000
/** Time for a connection that is cut off to close. */
const CUT_SECONDS = 1

/** One event as the page listens for it; `chunk` is HTML. */
export interface ServerSentEvent {
  readonly name: string
  readonly chunk: string
  /** Sent in a frame of its own right after the event. A browser repeats it in `Last-Event-ID` when it reconnects. */
  readonly id?: number
}

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  // Otherwise nginx would hold events back until its buffer is full.
  'X-Accel-Buffering': 'no',
  Vary: 'Accept-Encoding',
}

const KEEP_ALIVE = ':\n\n'

/**
 * Responds with a stream of events, compressed if the client accepts it, and flushed after each event.
 *
 * The source is asked for an event only after the client has read the one before. So nothing queues up in memory, and a
 * source may skip states that a slow client would be too late for. When the client disconnects, the source's signal is
 * aborted and its iterator returned. If the source fails, the connection is cut off, so that nobody mistakes the stream for
 * a complete one; likewise if the client reads nothing for a minute. Throws an `HttpError` 429 for a client with too many
 * streams.
 */
export function eventStream(
  scope: RequestScope,
  events: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>,
  clock: Clock = systemClock,
): Response {
  const coding = scope.streaming.eventCompressors.coding(scope.request.headers.get('Accept-Encoding'))
  const stream = new EventStream(scope, coding, events, clock)
  const body = new ReadableStream<Uint8Array>(
    { pull: controller => stream.pull(controller), cancel: () => stream.close() },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: coding === 'identity' ? HEADERS : { ...HEADERS, 'Content-Encoding': coding } })
}

type Controller = ReadableStreamDefaultController<Uint8Array>

/** Connects a source of events with one client, from the first pull until either of them ends it. */
class EventStream {
  readonly #scope: RequestScope
  readonly #clock: Clock
  readonly #coding: StreamCoding
  readonly #counted: Disposable | null
  readonly #closing = new AbortController()
  readonly #source: AsyncIterator<ServerSentEvent>
  #compressor: StreamCompressor | undefined
  /** The event that the source has been asked for. */
  #next: Promise<IteratorResult<ServerSentEvent>> | undefined
  #silenceMs = FIRST_BYTES_MS
  #cancelStallTimer = () => {}

  constructor(
    scope: RequestScope,
    coding: StreamCoding,
    events: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>,
    clock: Clock,
  ) {
    this.#scope = scope
    this.#clock = clock
    this.#coding = coding
    // The response to HEAD is never read, so its stream would never end.
    this.#counted = scope.isHead ? null : scope.streaming.clients.open(addressKey(scope.clientAddress))
    // The server closes idle connections, but a stream may be slow.
    scope.server.timeout(scope.request, 0)
    this.#source = events(this.#closing.signal)[Symbol.asyncIterator]()
    scope.request.signal.addEventListener('abort', () => this.close(), { once: true })
  }

  /** Called whenever the client has read everything so far. */
  async pull(controller: Controller): Promise<void> {
    try {
      await this.#sendNext(controller)
    } catch (error) {
      if (this.#isClosed) return
      logFailure(error, this.#scope.requestId)
      this.#cut(controller)
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#closing.abort()
    this.#cancelStallTimer()
    this.#counted?.[Symbol.dispose]()
    this.#compressor?.[Symbol.dispose]()
    this.#source.return?.().catch(error => logFailure(error, this.#scope.requestId))
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #sendNext(controller: Controller): Promise<void> {
    this.#cancelStallTimer()
    // Opened only now, because the response to HEAD is never read.
    this.#compressor ??= this.#scope.streaming.eventCompressors.open(this.#coding)
    const result = await this.#nextResult()
    if (this.#isClosed) return
    const bytes = result?.done
      ? await this.#compressor.end()
      : await this.#compressor.piece(result ? framesOf(result.value) : KEEP_ALIVE)
    if (this.#isClosed) return
    if (bytes.length > 0) controller.enqueue(bytes)
    if (result?.done) this.#finish(controller)
    else this.#cancelStallTimer = this.#clock.after(STALLED_MS, () => this.#cutStalled(controller))
  }

  /** The next result of the source; `null` if it stays silent for too long. */
  async #nextResult(): Promise<IteratorResult<ServerSentEvent> | null> {
    this.#next ??= this.#source.next()
    const result = await within(this.#clock, this.#silenceMs, this.#next)
    this.#silenceMs = KEEP_ALIVE_MS
    if (result) this.#next = undefined
    return result
  }

  #finish(controller: Controller): void {
    this.close()
    controller.close()
    // Time for the client to read the rest.
    this.#scope.server.timeout(this.#scope.request, STALLED_MS / 1_000)
  }

  #cutStalled(controller: Controller): void {
    log.debug('an event stream is cut off: its client has stopped reading', { request_id: this.#scope.requestId })
    this.#cut(controller)
  }

  #cut(controller: Controller): void {
    this.close()
    // Otherwise the connection would stay open until the client reads again.
    this.#scope.server.timeout(this.#scope.request, CUT_SECONDS)
    // Without an argument: the runtime would print the error.
    controller.error()
  }
}

/**
 * The frames of an event (WHATWG HTML, 9.2.6). A line break in the chunk would begin another field, so it is sent as a
 * character reference, which means the same in HTML.
 */
function framesOf({ name, chunk, id }: ServerSentEvent): string {
  const event = `event: ${name}\ndata: ${chunk.replaceAll(/\r\n|\r|\n/g, '&#10;')}\n\n`
  return id === undefined ? event : `${event}id: ${id}\n\n`
}
