import { AnswerError } from './chat-model.ts'
import type { Service } from './failures.ts'

/** What a provider may send for one answer, with all that its protocol wraps around the text. */
const RESPONSE_MAX_BYTES = 67_108_864

/** What is handed on before everybody else has a turn of the event loop. */
const PART_MAX_BYTES = 16_384

const CARRIAGE_RETURN = 0x0d
const LINE_FEED = 0x0a

/** What a wrong address often shows: a web page, or an answer that is no stream. */
const NO_STREAM = /^(text\/html|application\/json)\b/i

/** `fetch` for a provider's package. It follows no redirect, as the credential would go along, and bounds what is read. */
export function providerFetch(service: Service): typeof fetch {
  const boundedFetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    if (response.ok && NO_STREAM.test(response.headers.get('Content-Type') ?? '')) {
      await response.body?.cancel()
      throw new AnswerError(
        'not understood',
        `${service.title} answered with a page or a document, not with a stream: check ${service.addressVariable}.`,
      )
    }
    if (response.body === null) return response
    return new Response(whatCame(response.body, init?.signal ?? undefined, service), response)
  }
  return Object.assign(boundedFetch, { preconnect: fetch.preconnect })
}

/**
 * All that came of a body, within the bound, in small parts. A connection that breaks ends it like any other end, as an
 * error would overtake what came before it; the AI SDK knows by the protocol that the answer is not whole.
 */
function whatCame(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  service: Service,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const lines = new LineFeeds()
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
          throw new AnswerError('too long', `${service.title} sent more than is read of one answer; it ends here.`)
        }
        rest = lines.of(value)
      }
      // All that is there would be handed on within one turn of the event loop: a quick provider would stop the others.
      await new Promise(resolve => setImmediate(resolve))
      controller.enqueue(rest.subarray(0, PART_MAX_BYTES))
      rest = rest.subarray(PART_MAX_BYTES)
    },
    cancel: reason => reader.cancel(reason),
  })
}

/**
 * Writes each line break of an event stream as a line feed. The AI SDK's parser takes all three kinds, but for each
 * carriage return it looks through all the rest of what came for a line feed.
 */
class LineFeeds {
  #isBehindReturn = false

  of(bytes: Uint8Array): Uint8Array {
    if (!this.#isBehindReturn && !bytes.includes(CARRIAGE_RETURN)) return bytes
    const written = new Uint8Array(bytes.length)
    let length = 0
    for (const byte of bytes) {
      const endsBreak = this.#isBehindReturn && byte === LINE_FEED
      this.#isBehindReturn = byte === CARRIAGE_RETURN
      if (endsBreak) continue
      written[length] = this.#isBehindReturn ? LINE_FEED : byte
      length += 1
    }
    return written.subarray(0, length)
  }
}
