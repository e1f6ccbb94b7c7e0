import { z } from 'zod'
import type { Clock } from '../clock.ts'

/** For the whole answer, from the first byte sent to the last one received. */
const ANSWER_MAX_MS = 10_000
const ANSWER_MAX_BYTES = 1_048_576

/** Keys are marked, see `withMarkedKeys`. */
const MARK = '.'
const ListAnswer = z.object({ [`${MARK}message`]: z.record(z.string(), z.unknown()) })

/** Why there are no names: what the list service did, for whoever looks at the page. */
export class ListServiceError extends Error {
  override name = 'ListServiceError'
}

/**
 * The names of the list at `url`: the keys of its `message` object, in their order.
 * Throws a `ListServiceError` when it does not answer whole, in time, with 200 and in that shape.
 */
export async function fetchNames(url: string, clock: Clock, left: AbortSignal): Promise<string[]> {
  const late = new AbortController()
  const callOff = clock.after(ANSWER_MAX_MS, () => late.abort())
  try {
    const response = await fetch(url, {
      headers: { Accept: 'application/json' },
      signal: AbortSignal.any([late.signal, left]),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new ListServiceError(`answered with status ${response.status}`)
    }
    return namesIn(await boundedText(response))
  } catch (error) {
    if (error instanceof ListServiceError) throw error
    if (late.signal.aborted) {
      throw new ListServiceError(`gave no full answer within ${ANSWER_MAX_MS / 1000} seconds`)
    }
    throw new ListServiceError('cannot be reached', { cause: error })
  } finally {
    callOff()
  }
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const bytes of response.body ?? []) {
    length += bytes.length
    if (length > ANSWER_MAX_BYTES) throw new ListServiceError(`answered with more than ${ANSWER_MAX_BYTES} bytes`)
    text += decoder.decode(bytes, { stream: true })
  }
  return text + decoder.decode()
}

function namesIn(text: string): string[] {
  let json: unknown
  try {
    json = JSON.parse(withMarkedKeys(text))
  } catch {
    throw new ListServiceError('did not answer in JSON')
  }
  const read = ListAnswer.safeParse(json)
  if (!read.success) throw new ListServiceError('did not answer with a list of names')
  return Object.values(read.data).flatMap(message => Object.keys(message).map(key => key.slice(MARK.length)))
}

/** JSON text with a mark before each key, as an object puts keys that look like numbers first, wherever they stood. */
function withMarkedKeys(json: string): string {
  return json.replace(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (string, content, colon) =>
    colon === undefined ? string : `"${MARK}${content}"${colon}`,
  )
}
