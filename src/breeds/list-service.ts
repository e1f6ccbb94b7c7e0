import type { Clock } from '../clock.ts'
import { isJsonObject } from '../json-object.ts'
import { shared } from '../shared.ts'

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

/** The names of a list, in its order. Rejects with a `ListServiceError`. */
export type List = () => Promise<readonly string[]>

/**
 * The list of the service at `url`: the keys of its `message` object, in the order of the JSON text. Visitors who come while a
 * request is under way share it, and its list. Rejects if the service does not send a complete list with status 200 in time.
 */
export function listService(url: string, clock: Clock): List {
  return shared(async () => {
    const timeout = new AbortController()
    const cancelTimeout = clock.after(RESPONSE_MAX_MS, () => timeout.abort())
    try {
      const response = await fetch(url, {
        headers: { Accept: 'application/json' },
        // A redirect would lead to an address that the operator did not choose.
        redirect: 'manual',
        signal: timeout.signal,
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
  })
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
