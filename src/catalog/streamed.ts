import { setImmediate as turn } from 'node:timers/promises'
import { BusyError } from '../busy-error.ts'
import { ByteBudget } from '../byte-budget.ts'
import { logFailure } from '../server/errors.ts'
import type { RequestScope } from '../server/requests.ts'
import { CHUNK_WEIGHT_MAX } from './storage/listing.ts'

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
  /** The `ETag` header. */
  readonly tag?: string | undefined
  /** JSON by default. */
  readonly contentType?: string
  /** Called when nobody reads any further, however the response has ended. */
  readonly ended?: (() => void) | undefined
}

/**
 * Sends JSON text in pieces, each read when the client has taken the one before. All such responses share one memory budget.
 * When slow clients have used it up, reads are rejected with a `BusyError`, and the response to a write waits.
 */
export function streamedResponse(
  texts: AsyncIterable<string>,
  { request, requestId, server }: RequestScope,
  { link, tag, contentType = 'application/json', ended }: StreamedResponseOptions,
): Response {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && streamedPieces.isSpent) throw new BusyError('Too many large answers are waiting for their readers')
  server.timeout(request, READER_IDLE_SECONDS)
  const body = jsonStream(texts[Symbol.asyncIterator](), {
    failed: error => logFailure(error, requestId),
    ended,
  })
  return new Response(body, {
    headers: {
      'Content-Type': contentType,
      ...(link !== undefined && { Link: link }),
      ...(tag !== undefined && { ETag: tag }),
    },
  })
}

/** Reading a piece may take some milliseconds, so each gets a turn of its own and other requests run in between. */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => turn())
  return lastTurn
}

interface StreamEnds {
  readonly failed: (error: unknown) => void
  readonly ended: (() => void) | undefined
}

function jsonStream(texts: AsyncIterator<string>, { failed, ended }: StreamEnds): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let held = 0
  let isFirst = true
  let hasLeft = false
  const release = () => {
    streamedPieces.release(held)
    held = 0
  }
  /** The first piece has already been read, so it only counts. */
  const next = async () => {
    release()
    if (isFirst) streamedPieces.hold(PIECE_BYTES)
    else await streamedPieces.take(PIECE_BYTES)
    held = PIECE_BYTES
    if (!isFirst) await ownTurn()
    isFirst = false
    if (hasLeft) return null
    const { value, done } = await texts.next()
    if (done) return null
    const bytes = encoder.encode(value)
    release()
    streamedPieces.hold(bytes.length)
    held = bytes.length
    return bytes
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const bytes = await next()
          if (hasLeft || !bytes) release()
          if (hasLeft) return
          if (bytes) return controller.enqueue(bytes)
          ended?.()
          controller.close()
        } catch (error) {
          release()
          ended?.()
          if (hasLeft) return
          failed(error)
          // Without the error, which the runtime would print. The connection is cut off, so nobody mistakes this for all of it.
          controller.error()
        }
      },
      async cancel() {
        hasLeft = true
        release()
        ended?.()
        await texts.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
