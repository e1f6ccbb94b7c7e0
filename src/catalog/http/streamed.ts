import { BusyError } from '../../limits/busy-error.ts'
import { byteStream } from '../../server/byte-stream.ts'
import type { StreamCoding } from '../../server/compressors.ts'
import type { RequestScope } from '../../server/requests.ts'
import type { Streaming } from '../../server/streaming.ts'
import { CHUNK_WEIGHT_MAX } from '../storage/weights.ts'
import { entityTag, matches } from './entity-tag.ts'

/** The header with the number of items in a list. */
export const TOTAL_COUNT = 'X-Total-Count'

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
  /** The number of items in the whole list, for `X-Total-Count`, if the client asked for it. */
  readonly total?: number | null
}

/**
 * Sends JSON text in pieces, each read when the client has taken the one before, and compressed if the client accepts it. All
 * such responses share one memory budget. When slow clients have used it up, reads are rejected with a `BusyError`, and the
 * response to a write waits.
 */
export function streamedResponse(
  texts: AsyncIterable<string>,
  scope: RequestScope,
  {
    link,
    version,
    contentType = 'application/json',
    isShort = false,
    isList = false,
    total = null,
  }: StreamedResponseOptions,
): Response {
  const { request, streaming } = scope
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && streaming.pieces.isSpent) throw new BusyError('Too many large answers are waiting for their readers')
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
  const body = byteStream(scope, ended => bytesOf(pieces, coding, streaming, ended))
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

/** Yields the bytes of the texts. The memory of each piece counts until the client has taken it. */
async function* bytesOf(
  texts: AsyncIterable<string>,
  coding: StreamCoding,
  streaming: Streaming,
  ended: AbortSignal,
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
      yield bytes
      hold(0)
      // If the client leaves meanwhile, the compressor is freed at once, and not when the turn comes.
      ended.addEventListener('abort', compressor[Symbol.dispose])
      await pieces.take(PIECE_BYTES)
      ended.removeEventListener('abort', compressor[Symbol.dispose])
      heldBytes = PIECE_BYTES
      await streaming.ownTurn()
      if (ended.aborted) return
    }
    const bytes = await compressor.end()
    hold(bytes.length)
    yield bytes
  } finally {
    hold(0)
  }
}
