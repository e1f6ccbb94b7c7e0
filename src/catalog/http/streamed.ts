import { setImmediate as turn } from 'node:timers/promises'
import { BusyError } from '../../limits/busy-error.ts'
import { ByteBudget } from '../../limits/byte-budget.ts'
import { logFailure } from '../../server/errors.ts'
import type { RequestScope } from '../../server/requests.ts'
import type { StreamCompressor } from '../../server/stream-compressor.ts'
import { CHUNK_WEIGHT_MAX } from '../storage/weights.ts'
import { entityTag, matches } from './entity-tag.ts'
import { openCompressor, streamedCoding } from './streamed-compression.ts'

/** A client that reads nothing for this long is cut off. */
const READER_IDLE_SECONDS = 60

/** Limit on the pieces of all streamed responses that are being read from the database or wait for their clients. */
const PIECES_MAX_BYTES = 134_217_728

/** The size that counts for a piece before it has been read: the text of a chunk and one more item. */
const PIECE_BYTES = 2 * CHUNK_WEIGHT_MAX

export const streamedPieces = new ByteBudget(PIECES_MAX_BYTES)

/** Resolves in the event-loop turn in which the last piece may be read. */
let lastTurn = Promise.resolve()

interface StreamedResponseOptions {
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
}

/**
 * Sends JSON text in pieces, each read when the client has taken the one before, and compressed if the client accepts it. All
 * such responses share one memory budget. When slow clients have used it up, reads are rejected with a `BusyError`, and the
 * response to a write waits.
 */
export function streamedResponse(
  texts: AsyncIterable<string>,
  { request, requestId, server }: RequestScope,
  { link, version, contentType = 'application/json', isShort = false, isList = false }: StreamedResponseOptions,
): Response {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && streamedPieces.isSpent) throw new BusyError('Too many large answers are waiting for their readers')
  server.timeout(request, READER_IDLE_SECONDS)
  const isCompressible = isRead && !isShort
  const coding = isCompressible ? streamedCoding(request.headers.get('Accept-Encoding')) : 'identity'
  const varies = [...(isList ? ['Accept'] : []), ...(isCompressible ? ['Accept-Encoding'] : [])]
  const headers = {
    'Content-Type': contentType,
    ...(link !== undefined && { Link: link }),
    ...(version !== undefined && { ETag: entityTag(version, coding) }),
    ...(varies.length > 0 && { Vary: varies.join(', ') }),
  }
  const known = isRead ? request.headers.get('If-None-Match') : null
  if (known !== null && headers.ETag && matches(known, headers.ETag))
    return new Response(null, { status: 304, headers })
  const pieces = coding === 'identity' ? texts : readAhead(texts)
  const body = byteStream(pieces[Symbol.asyncIterator](), {
    openCompressor: () => openCompressor(coding),
    failed: error => logFailure(error, requestId),
  })
  return new Response(body, { headers: { ...headers, ...(coding !== 'identity' && { 'Content-Encoding': coding }) } })
}

/** Yields each piece when the next one is being read, so that it is compressed on another thread meanwhile. */
async function* readAhead(texts: AsyncIterable<string>): AsyncGenerator<string> {
  const pieces = texts[Symbol.asyncIterator]()
  try {
    let { value, done } = await pieces.next()
    while (!done) {
      const next = ownTurn().then(() => pieces.next())
      // It is thrown when the piece is needed, if the client has not left.
      next.catch(() => {})
      yield value
      ;({ value, done } = await next)
    }
  } finally {
    await pieces.return?.()
  }
}

/** Reading a piece may take some milliseconds, so each gets a turn of its own and other requests run in between. */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => turn())
  return lastTurn
}

interface StreamOptions {
  /** Called when the first piece is sent: the response to HEAD never opens a compressor. */
  readonly openCompressor: () => StreamCompressor
  readonly failed: (error: unknown) => void
}

function byteStream(
  texts: AsyncIterator<string>,
  { openCompressor, failed }: StreamOptions,
): ReadableStream<Uint8Array> {
  let compressor: StreamCompressor | undefined
  let held = 0
  let hasLeft = false
  const release = () => {
    streamedPieces.release(held)
    held = 0
  }
  const end = () => {
    release()
    compressor?.[Symbol.dispose]()
  }
  /** The first piece has already been read, so it only counts. */
  const next = async () => {
    release()
    const isFirst = compressor === undefined
    compressor ??= openCompressor()
    if (isFirst) streamedPieces.hold(PIECE_BYTES)
    else await streamedPieces.take(PIECE_BYTES)
    held = PIECE_BYTES
    if (!isFirst) await ownTurn()
    if (hasLeft) return null
    const { value, done } = await texts.next()
    if (hasLeft) return null
    const bytes = await (done ? compressor.end() : compressor.piece(value))
    release()
    streamedPieces.hold(bytes.length)
    held = bytes.length
    return { bytes, done }
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const sent = await next()
          if (hasLeft || !sent) return release()
          if (sent.bytes.length > 0) controller.enqueue(sent.bytes)
          if (!sent.done) return
          end()
          controller.close()
        } catch (error) {
          if (hasLeft) return release()
          end()
          failed(error)
          // Without the error, which the runtime would print. The connection is cut off, so nobody mistakes this for all of it.
          controller.error()
        }
      },
      async cancel() {
        hasLeft = true
        end()
        await texts.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
