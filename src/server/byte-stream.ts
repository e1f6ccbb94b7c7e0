import { logFailure } from './errors.ts'
import type { RequestScope } from './requests.ts'

/** A client that reads nothing for this long is cut off. A source must not be silent for longer. */
const READER_IDLE_SECONDS = 60

/**
 * The body of a streamed response. The source is asked for bytes when the client has read those before, so nothing queues up in
 * memory, and a slow client slows down nobody but its own source.
 *
 * The stream ends when its source ends or fails, or when the client leaves or is cut off. Then this function
 * - aborts `ended`, the source's signal to stop waiting for anything,
 * - returns the source's generator, so that its `finally` runs,
 * - disposes of `held`, such as the client's place among all streams, even if the source has never begun.
 *
 * If the source fails, the connection is cut, so that nobody mistakes the body for a complete one.
 */
export function byteStream(
  scope: RequestScope,
  source: (ended: AbortSignal) => AsyncGenerator<Uint8Array, void>,
  held?: Disposable,
): ReadableStream<Uint8Array> {
  // The runtime measures the time since it could last write to the client.
  scope.allowIdle(READER_IDLE_SECONDS)
  const ending = new AbortController()
  const bytes = source(ending.signal)

  const end = () => {
    ending.abort()
    held?.[Symbol.dispose]()
    bytes.return().catch(error => logFailure(error, scope.requestId))
  }

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      const { value, done } = await bytes.next()
      if (!done) return controller.enqueue(value)
      controller.close()
    } catch (error) {
      // The controller throws, too, once the client has left.
      if (ending.signal.aborted) return
      logFailure(error, scope.requestId)
      // Without the error, which the runtime would print.
      controller.error()
    }
    end()
  }

  // The runtime cancels the body when the client leaves, and at once if the request was a HEAD.
  return new ReadableStream<Uint8Array>({ pull, cancel: end }, { highWaterMark: 0 })
}
