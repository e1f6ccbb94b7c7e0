import { z } from 'zod'
import type { Clock } from '../clock.ts'

/** For the whole answer, from the first byte sent to the last one received. */
const ANSWER_MAX_MS = 10_000
/** Counted after decompression. */
const ANSWER_MAX_BYTES = 1_048_576
/** At two events for each name, the page takes over an hour to list so many. */
const NAMES_MAX = 10_000
const NAME_MAX_CHARACTERS = 200

/** Keys are marked, see `withMarkedKeys`. */
const MARK = '.'
const ListAnswer = z.object({ [`${MARK}message`]: z.record(z.string(), z.unknown()) })

/** Why there are no names: what the list service did, for whoever looks at the page. */
export class ListServiceError extends Error {
  override name = 'ListServiceError'
}

/** A request to the list service that is under way, and how many visitors wait for it. */
interface Asked {
  readonly url: string
  readonly names: Promise<readonly string[]>
  readonly abandoned: AbortController
  visitors: number
}

/** Asks the list service. Visitors who come while it is being asked share one request and one list. */
export class ListService {
  readonly #clock: Clock
  #asked: Asked | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * The names of the list at `url`: the keys of its `message` object, in their order.
   * Throws a `ListServiceError` if the service does not answer whole, in time, with 200 and in that shape.
   */
  async names(url: string, left: AbortSignal): Promise<readonly string[]> {
    const asked = this.#asked?.url === url ? this.#asked : this.#ask(url)
    asked.visitors += 1
    try {
      return await Promise.race([asked.names, leaving(left)])
    } finally {
      asked.visitors -= 1
      if (asked.visitors === 0) {
        this.#forget(asked)
        asked.abandoned.abort()
      }
    }
  }

  #ask(url: string): Asked {
    const abandoned = new AbortController()
    const names = fetchNames(url, this.#clock, abandoned.signal).finally(() => this.#forget(asked))
    const asked: Asked = { url, names, abandoned, visitors: 0 }
    this.#asked = asked
    return asked
  }

  #forget(asked: Asked): void {
    if (this.#asked === asked) this.#asked = null
  }
}

function leaving(left: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    left.addEventListener('abort', () => reject(new ListServiceError('was not waited for')), { once: true })
  })
}

async function fetchNames(url: string, clock: Clock, abandoned: AbortSignal): Promise<readonly string[]> {
  const late = new AbortController()
  const callOff = clock.after(ANSWER_MAX_MS, () => late.abort())
  try {
    const response = await fetch(url, {
      headers: { Accept: 'application/json' },
      // The operator chose this address, and no other.
      redirect: 'manual',
      signal: AbortSignal.any([late.signal, abandoned]),
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

function namesIn(text: string): readonly string[] {
  if (!isJson(text)) throw new ListServiceError('did not answer in JSON')
  const read = ListAnswer.safeParse(JSON.parse(withMarkedKeys(text)))
  if (!read.success) throw new ListServiceError('did not answer with a list of names')
  const names = Object.values(read.data).flatMap(message => Object.keys(message).map(key => key.slice(MARK.length)))
  if (names.length > NAMES_MAX) throw new ListServiceError(`answered with more than ${NAMES_MAX} names`)
  if (names.some(name => name.length > NAME_MAX_CHARACTERS)) {
    throw new ListServiceError(`answered with a name longer than ${NAME_MAX_CHARACTERS} characters`)
  }
  return names
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * JSON text with a mark before each key. The names keep the order of the text, where an object alone would put keys that
 * look like integers first. Only for text that is valid JSON, whose strings all end.
 */
function withMarkedKeys(json: string): string {
  let marked = ''
  let copied = 0
  for (let quote = json.indexOf('"'); quote >= 0; ) {
    const behind = endOfString(json, quote)
    if (isKey(json, behind)) {
      marked += `${json.slice(copied, quote + 1)}${MARK}`
      copied = quote + 1
    }
    quote = json.indexOf('"', behind)
  }
  return marked + json.slice(copied)
}

/** Where the string that begins at this quotation mark is over. */
function endOfString(json: string, quote: number): number {
  let index = quote + 1
  while (json[index] !== '"') index += json[index] === '\\' ? 2 : 1
  return index + 1
}

function isKey(json: string, behind: number): boolean {
  let index = behind
  while (json[index] === ' ' || json[index] === '\n' || json[index] === '\r' || json[index] === '\t') index += 1
  return json[index] === ':'
}
