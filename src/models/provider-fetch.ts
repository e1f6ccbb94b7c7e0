import { setImmediate as turn } from 'node:timers/promises'
import { AnswerError } from './chat-model.ts'
import type { Service } from './failures.ts'

/** Size limit of one response, including the protocol around the text. */
const RESPONSE_MAX_BYTES = 67_108_864

/**
 * Bytes passed on per turn of the event loop. Otherwise a fast provider would block all other work, and the AI SDK's parser
 * would search all the rest for a line feed at each carriage return.
 */
const PART_MAX_BYTES = 16_384

/** A wrong address often leads to a web page or a JSON document. */
const NOT_A_STREAM = /^(text\/html|application\/json)\b/i

/** `fetch` for a provider's package. It limits the response, and follows no redirects, which would pass on the credential. */
export function providerFetch(service: Service): typeof fetch {
  const boundedFetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    if (response.ok && NOT_A_STREAM.test(response.headers.get('Content-Type') ?? '')) {
      await response.body?.cancel()
      throw new AnswerError(
        'not understood',
        `${service.title} answered with a web page or a document instead of a stream: check ${service.addressVariable}.`,
      )
    }
    if (response.body === null) return response
    return new Response(limitedBody(response.body, init?.signal ?? undefined, service), response)
  }
  return Object.assign(boundedFetch, { preconnect: fetch.preconnect })
}

/**
 * A response body in small parts, up to the limit. A broken connection looks like a normal end, because an error would
 * discard the parts before it; the AI SDK sees from the protocol that the answer is incomplete.
 */
function limitedBody(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  service: Service,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let received = 0
  let rest: Uint8Array = new Uint8Array()
  return new ReadableStream<Uint8Array>({
    pull: async controller => {
      if (rest.length === 0) {
        const { done, value } = await reader.read().catch(() => {
          signal?.throwIfAborted()
          return { done: true, value: undefined } as const
        })
        if (done) return controller.close()
        received += value.length
        if (received > RESPONSE_MAX_BYTES) {
          await reader.cancel()
          throw new AnswerError('too long', `${service.title} sent more than 64 MiB for one answer, so it was cut off.`)
        }
        rest = value
      }
      await turn()
      controller.enqueue(rest.subarray(0, PART_MAX_BYTES))
      rest = rest.subarray(PART_MAX_BYTES)
    },
    cancel: reason => reader.cancel(reason),
  })
}
