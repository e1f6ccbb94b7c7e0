import { BusyError } from '../../limits/busy-error.ts'
import type { StreamCoding } from '../../server/compressors.ts'
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
  const body = byteStream(pieces, coding, streaming, requestId)
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

/** Sends the texts to one client, from the first pull until they end, fail, or the client leaves. */
function byteStream(
  texts: AsyncIterable<string>,
  coding: StreamCoding,
  streaming: Streaming,
  requestId: string,
): ReadableStream<Uint8Array> {
  const left = new AbortController()
  const pieces = bytesOf(texts, coding, streaming, left.signal)
  return new ReadableStream<Uint8Array>(
    {
      pull: async controller => {
        try {
          const { value, done } = await pieces.next()
          if (left.signal.aborted) return
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          if (left.signal.aborted) return
          logFailure(error, requestId)
          // Without the error, which the runtime would print. The connection is cut off, so nobody mistakes this for all of it.
          controller.error()
        }
      },
      cancel: async () => {
        left.abort()
        await pieces.return()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Yields the bytes of the texts. The memory of each piece counts until the client has taken it. */
async function* bytesOf(
  texts: AsyncIterable<string>,
  coding: StreamCoding,
  streaming: Streaming,
  left: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  // Opened only now, because the response to HEAD is never read.
  using compressor = streaming.textCompressors.open(coding)
  const { pieces } = streaming
  let heldBytes = 0
  const hold = (bytes: number) => {
    pieces.release(heldBytes)
    pieces.hold(bytes)
    heldBytes = bytes
  }
  try {
    // The first piece has already been read, so it only counts.
    hold(PIECE_BYTES)
    for await (const text of texts) {
      const bytes = await compressor.piece(text)
      hold(bytes.length)
      if (bytes.length > 0) yield bytes
      hold(0)
      // If the client leaves meanwhile, the compressor is freed at once, and not when the turn comes.
      left.addEventListener('abort', compressor[Symbol.dispose])
      await pieces.take(PIECE_BYTES)
      left.removeEventListener('abort', compressor[Symbol.dispose])
      heldBytes = PIECE_BYTES
      await streaming.ownTurn()
      if (left.aborted) return
    }
    const bytes = await compressor.end()
    hold(bytes.length)
    if (bytes.length > 0) yield bytes
  } finally {
    hold(0)
  }
}
