import { BusyError } from '../busy-error.ts'
import { ByteBudget } from '../byte-budget.ts'
import { logFailure } from '../server/errors.ts'
import type { RequestScope } from '../server/requests.ts'
import { CHUNK_MAX_CHARACTERS } from './storage/listing.ts'

/** A reader of a long answer that takes nothing for so long is cut. */
const READER_IDLE_SECONDS = 60

/** Pieces of all streamed answers that are being read, or wait for their clients to take them. */
const PIECES_MAX_BYTES = 134_217_728

/** What a piece counts before it has been read: the text of a chunk, and one item more. */
const PIECE_BYTES = 2 * CHUNK_MAX_CHARACTERS

const pieces = new ByteBudget(PIECES_MAX_BYTES)

/** Resolves in the turn of the event loop in which the last piece may be read. */
let lastTurn = Promise.resolve()

interface StreamedResponseOptions {
  /** The `Link` header. */
  readonly link?: string | undefined
  /** Called when nobody reads on, however it has ended. */
  readonly ended?: (() => void) | undefined
}

/**
 * Sends JSON text in pieces, each read when the client has taken the one before. All such answers share one budget of memory:
 * when slow clients have spent it, reads are turned away with a `BusyError`, and the answer to a write waits.
 */
export function streamedResponse(
  texts: AsyncIterable<string>,
  { request, requestId, server }: RequestScope,
  { link, ended }: StreamedResponseOptions,
): Response {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (isRead && pieces.isSpent) throw new BusyError('Too many large answers are waiting for their readers')
  server.timeout(request, READER_IDLE_SECONDS)
  const body = jsonStream(texts[Symbol.asyncIterator](), {
    failed: error => logFailure(error, requestId),
    ended,
  })
  return new Response(body, {
    headers: { 'Content-Type': 'application/json', ...(link !== undefined && { Link: link }) },
  })
}

/** A piece may take some milliseconds. Each is read in a turn of its own, so that other requests get theirs in between. */
function ownTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise<void>(resolve => setImmediate(resolve)))
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
    pieces.release(held)
    held = 0
  }
  /** The first piece has been read before, so it is only counted. */
  const next = async () => {
    release()
    if (isFirst) pieces.hold(PIECE_BYTES)
    else await pieces.take(PIECE_BYTES)
    held = PIECE_BYTES
    if (!isFirst) await ownTurn()
    isFirst = false
    if (hasLeft) return null
    const { value, done } = await texts.next()
    if (done) return null
    const bytes = encoder.encode(value)
    release()
    pieces.hold(bytes.length)
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
          // Without the error, which the runtime would print. The connection is cut, so nobody takes this for the whole.
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
