import { BusyError } from '../../limits/busy-error.ts'
import type { StreamCoding, StreamCompressor } from '../../server/compressors.ts'
import { logFailure } from '../../server/errors.ts'
import type { RequestScope } from '../../server/requests.ts'
import type { Streaming } from '../../server/streaming.ts'
import { CHUNK_WEIGHT_MAX } from '../storage/weights.ts'
import { entityTag, matches } from './entity-tag.ts'

/** The header with the number of items in a list. */
export const TOTAL_COUNT = 'X-Total-Count'

/** A client that reads nothing for this long is cut off. */
const READER_IDLE_SECONDS = 60

/** The size that counts for a piece before it has been read: the text of a chunk and one more item. */
const PIECE_BYTES = 2 * CHUNK_WEIGHT_MAX

export interface StreamedResponseOptions {
  /** The `Link` header. */
  readonly link?: string | undefined
  /** For the `ETag` header. */
  readonly version?: string | undefined
  /** JSON by default. */
  readonly contentType?: string
  /** Whether the text is too short to be compressed. */
  readonly isShort?: boolean
  /** Lists come as JSON or NDJSON, as the client accepts. */
  readonly isList?: boolean
  /** The number of items in the whole list, if the client asked for it. */
  readonly total?: number | null
}

/**
 * Sends JSON text in pieces, each read when the client has taken the one before, and compressed if the client accepts it. All
 * such responses share one memory budget. When slow clients have used it up, reads are rejected with a `BusyError`, and the
 * response to a write waits.
 */
export function streamedResponse(
  texts: AsyncIterable<string>,
  { request, requestId, server, streaming }: RequestScope,
  {
    link,
    version,
    contentType = 'application/json',
    isShort = false,
    isList = false,
    total = null,
  }: StreamedResponseOptions,
): Response {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && streaming.pieces.isSpent) throw new BusyError('Too many large answers are waiting for their readers')
  server.timeout(request, READER_IDLE_SECONDS)
  const isCompressible = isRead && !isShort
  const accepted = isCompressible ? request.headers.get('Accept-Encoding') : null
  const coding = streaming.textCompressors.coding(accepted)
  const varies = [...(isList ? ['Accept'] : []), ...(isCompressible ? ['Accept-Encoding'] : [])]
  const headers = {
    'Content-Type': contentType,
    ...(link !== undefined && { Link: link }),
    ...(total !== null && { [TOTAL_COUNT]: String(total) }),
    ...(version !== undefined && { ETag: entityTag(version, coding) }),
    ...(varies.length > 0 && { Vary: varies.join(', ') }),
  }
  const known = isRead ? request.headers.get('If-None-Match') : null
  if (known !== null && headers.ETag && matches(known, headers.ETag))
    return new Response(null, { status: 304, headers })
  const pieces = coding === 'identity' ? texts : readAhead(texts, streaming)
  const stream = new TextStream(pieces, coding, streaming, requestId)
  const body = new ReadableStream<Uint8Array>(
    { pull: controller => stream.pull(controller), cancel: () => stream.cancel() },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { ...headers, ...(coding !== 'identity' && { 'Content-Encoding': coding }) } })
}

/** Yields each piece when the next one is being read, so that it is compressed on another thread meanwhile. */
async function* readAhead(texts: AsyncIterable<string>, streaming: Streaming): AsyncGenerator<string> {
  const pieces = texts[Symbol.asyncIterator]()
  try {
    let { value, done } = await pieces.next()
    while (!done) {
      const next = streaming.ownTurn().then(() => pieces.next())
      // It is thrown when the piece is needed, if the client has not left.
      next.catch(() => {})
      yield value
      ;({ value, done } = await next)
    }
  } finally {
    await pieces.return?.()
  }
}

type Controller = ReadableStreamDefaultController<Uint8Array>

/** Sends the texts to one client, from the first pull until they end, fail, or the client leaves. */
class TextStream {
  readonly #texts: AsyncIterator<string>
  readonly #coding: StreamCoding
  readonly #streaming: Streaming
  readonly #requestId: string
  #compressor: StreamCompressor | undefined
  /** The memory that counts for the current piece. */
  #heldBytes = 0
  #isClosed = false

  constructor(texts: AsyncIterable<string>, coding: StreamCoding, streaming: Streaming, requestId: string) {
    this.#texts = texts[Symbol.asyncIterator]()
    this.#coding = coding
    this.#streaming = streaming
    this.#requestId = requestId
  }

  /** Called whenever the client has taken everything so far. */
  async pull(controller: Controller): Promise<void> {
    try {
      await this.#sendNext(controller)
    } catch (error) {
      if (this.#isClosed) return
      this.#close()
      logFailure(error, this.#requestId)
      // Without the error, which the runtime would print. The connection is cut off, so nobody mistakes this for all of it.
      controller.error()
    } finally {
      // The client may have left while the piece waited for memory.
      if (this.#isClosed) this.#hold(0)
    }
  }

  /** The client has left. */
  async cancel(): Promise<void> {
    this.#close()
    await this.#texts.return?.()
  }

  async #sendNext(controller: Controller): Promise<void> {
    const compressor = await this.#prepare()
    if (this.#isClosed) return
    const { value, done } = await this.#texts.next()
    if (this.#isClosed) return
    const bytes = await (done ? compressor.end() : compressor.piece(value))
    if (this.#isClosed) return
    this.#hold(bytes.length)
    if (bytes.length > 0) controller.enqueue(bytes)
    if (!done) return
    this.#close()
    controller.close()
  }

  /** Waits for memory and a turn. The first piece has already been read, so it only counts. */
  async #prepare(): Promise<StreamCompressor> {
    this.#hold(0)
    if (this.#compressor === undefined) {
      // Opened only now, because the response to HEAD is never read.
      this.#compressor = this.#streaming.textCompressors.open(this.#coding)
      this.#hold(PIECE_BYTES)
    } else {
      await this.#streaming.pieces.take(PIECE_BYTES)
      this.#heldBytes = PIECE_BYTES
      await this.#streaming.ownTurn()
    }
    return this.#compressor
  }

  #hold(bytes: number): void {
    this.#streaming.pieces.release(this.#heldBytes)
    this.#streaming.pieces.hold(bytes)
    this.#heldBytes = bytes
  }

  #close(): void {
    this.#isClosed = true
    this.#hold(0)
    this.#compressor?.[Symbol.dispose]()
  }
}
