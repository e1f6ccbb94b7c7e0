import type { Clock } from '../clock.ts'
import { isJsonObject } from '../json-object.ts'

/** Time limit for the whole response, from the first byte sent to the last byte received. */
const RESPONSE_MAX_MS = 10_000
/** Size limit of the response, after decompression. */
const RESPONSE_MAX_BYTES = 1_048_576
/** With two pauses for each name, a list this long takes more than an hour. */
const NAMES_MAX = 10_000
const NAME_MAX_CHARACTERS = 200

/** A string of a JSON text, with the colon after it if it is a key. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/** Marks a key, see `withMarkedKeys`. */
const MARK = '.'

/** The list service failed. The message completes the sentence "The list service …" on the page. */
export class ListServiceError extends Error {
  override name = 'ListServiceError'
}

/** A request to the list service, shared by all visitors who wait for it. */
interface SharedRequest {
  readonly names: Promise<readonly string[]>
  readonly abandoned: AbortController
  visitors: number
}

/** Client of the list service. Visitors who come while a request is under way share it, and its list. */
export class ListService {
  readonly #clock: Clock
  #request: SharedRequest | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * The names of the list at `url`, which is always the same: the keys of its `message` object, in the order of the JSON
   * text. Throws a `ListServiceError` if the service does not send a complete list with status 200 in time, or if the signal
   * is aborted.
   */
  async names(url: string, signal: AbortSignal): Promise<readonly string[]> {
    const request = this.#request ?? this.#send(url)
    this.#request = request
    request.visitors += 1
    try {
      return await Promise.race([request.names, rejectedOnAbort(signal)])
    } finally {
      request.visitors -= 1
      if (request.visitors === 0) {
        this.#request = null
        request.abandoned.abort()
      }
    }
  }

  #send(url: string): SharedRequest {
    const abandoned = new AbortController()
    return { names: fetchNames(url, this.#clock, abandoned.signal), abandoned, visitors: 0 }
  }
}

function rejectedOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new ListServiceError('was not waited for')), { once: true })
  })
}

async function fetchNames(url: string, clock: Clock, abandoned: AbortSignal): Promise<readonly string[]> {
  const timeout = new AbortController()
  const cancelTimeout = clock.after(RESPONSE_MAX_MS, () => timeout.abort())
  try {
    const response = await fetch(url, {
      headers: { Accept: 'application/json' },
      // A redirect would lead to an address that the operator did not choose.
      redirect: 'manual',
      signal: AbortSignal.any([timeout.signal, abandoned]),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new ListServiceError(`answered with status ${response.status}`)
    }
    return namesIn(await boundedText(response))
  } catch (error) {
    if (error instanceof ListServiceError) throw error
    if (timeout.signal.aborted) {
      throw new ListServiceError(`gave no full answer within ${RESPONSE_MAX_MS / 1000} seconds`)
    }
    throw new ListServiceError('cannot be reached', { cause: error })
  } finally {
    cancelTimeout()
  }
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const bytes of response.body ?? []) {
    length += bytes.length
    if (length > RESPONSE_MAX_BYTES) throw new ListServiceError(`answered with more than ${RESPONSE_MAX_BYTES} bytes`)
    text += decoder.decode(bytes, { stream: true })
  }
  return text + decoder.decode()
}

function namesIn(text: string): readonly string[] {
  try {
    JSON.parse(text)
  } catch {
    throw new ListServiceError('did not answer in JSON')
  }
  const list: unknown = JSON.parse(withMarkedKeys(text))
  const message = isJsonObject(list) ? list[`${MARK}message`] : null
  if (!isJsonObject(message)) throw new ListServiceError('did not answer with a list of names')
  const names = Object.keys(message).map(key => key.slice(MARK.length))
  if (names.length > NAMES_MAX) throw new ListServiceError(`answered with more than ${NAMES_MAX} names`)
  if (names.some(name => name.length > NAME_MAX_CHARACTERS)) {
    throw new ListServiceError(`answered with a name longer than ${NAME_MAX_CHARACTERS} characters`)
  }
  return names
}

/**
 * Puts a mark before each key, so that a parsed object keeps the order of the text: JavaScript moves keys that look like
 * integers to the front. The text must be valid JSON.
 */
function withMarkedKeys(json: string): string {
  return json.replace(STRING, (text, colon) => (colon === undefined ? text : `"${MARK}${text.slice(1)}`))
}
