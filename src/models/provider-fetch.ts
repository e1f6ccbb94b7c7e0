import { setImmediate as turn } from 'node:timers/promises'
import { AnswerError } from './chat-model.ts'
import { type Service, unreachable } from './failures.ts'

/** Size limit of one response, including the protocol around the text. */
const RESPONSE_MAX_BYTES = 67_108_864

/** Of a refusal, only this much is read: enough for its reason. */
const REFUSAL_MAX_BYTES = 65_536

/**
 * Bytes passed on per turn of the event loop. Otherwise a fast provider would block all other work, and the AI SDK's parser
 * would search all the rest for a line feed at each carriage return.
 */
const PART_MAX_BYTES = 16_384

/**
 * The last event of OpenAI's chat completions. Some servers leave the connection open after it, so that a whole answer would
 * seem to fall silent. No text of an answer matches, because its line breaks are escaped.
 */
const DONE = /[\r\n]data: ?\[DONE\][\r\n]/
const DONE_MAX_BYTES = 14

const DATA = /^data:(.*)$/gm
/** A line that every client ignores. */
const COMMENT = ':'

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** A wrong address often leads to a web page or a JSON document. */
const NOT_A_STREAM = /^(text\/html|application\/json)\b/i

/** `fetch` for a provider's package. It limits the response, and follows no redirects, which would pass on the credential. */
export function providerFetch(service: Service): typeof fetch {
  const boundedFetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, { ...init, redirect: 'manual' }).catch((error: unknown) => {
      init?.signal?.throwIfAborted()
      throw unreachable(service, error)
    })
    if (response.ok && NOT_A_STREAM.test(response.headers.get('Content-Type') ?? '')) {
      await response.body?.cancel()
      throw new AnswerError(
        'not understood',
        `${service.title} answered with a web page or a document instead of a stream: check ${service.addressVariable}.`,
      )
    }
    if (response.body === null) return response
    const parts = partsOf(response.body, init?.signal, service, response.ok)
    return new Response(response.ok ? answerLines(parts, service) : parts, response)
  }
  return Object.assign(boundedFetch, { preconnect: fetch.preconnect })
}

/**
 * The lines of a stream, with their data as the AI SDK expects it. Some proxies keep a connection alive with events without data,
 * which it takes for errors.
 */
async function* answerLines(
  parts: AsyncIterable<Uint8Array>,
  { corrected }: Service,
): AsyncGenerator<Uint8Array, void, undefined> {
  const correct = corrected?.()
  const answerLine = (line: string, data: string) => {
    if (data.trim() === '') return COMMENT
    return correct ? `data:${correct(data)}` : line
  }
  let begun: Uint8Array[] = []
  for await (const part of parts) {
    const end = Math.max(part.lastIndexOf(LINE_FEED), part.lastIndexOf(CARRIAGE_RETURN)) + 1
    begun.push(part.subarray(0, end || part.length))
    if (end === 0) continue
    // Each byte is a character, so none is lost if it is part of a longer one.
    yield Buffer.from(Buffer.concat(begun).toString('latin1').replace(DATA, answerLine), 'latin1')
    begun = [part.subarray(end)]
  }
  yield Buffer.concat(begun)
}

/**
 * A response body in small parts, up to a limit or the last event. A broken connection looks like a normal end, because an
 * error would discard the parts before it; the AI SDK sees from the protocol that the answer is incomplete.
 */
async function* partsOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | null | undefined,
  { title }: Service,
  isAnswer: boolean,
): AsyncGenerator<Uint8Array> {
  let received = 0
  let end = '\n'
  try {
    for await (const bytes of body) {
      received += bytes.length
      if (received > RESPONSE_MAX_BYTES) {
        throw new AnswerError('too long', `${title} sent more than 64 MiB for one answer, so it was cut off.`)
      }
      for (let start = 0; start < bytes.length; start += PART_MAX_BYTES) {
        await turn()
        yield bytes.subarray(start, start + PART_MAX_BYTES)
      }
      const text = end + Buffer.from(bytes).toString('latin1')
      if (DONE.test(text) || (!isAnswer && received >= REFUSAL_MAX_BYTES)) return
      end = text.slice(-DONE_MAX_BYTES)
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof AnswerError) throw error
  }
}
