import { StockroomError, Unavailable } from './errors.js'
import { backoffMs, pause, RETRIES, whenAborted } from './requests.js'

/**
 * @import { CatalogEvent, Followed, FollowOptions } from './index.d.ts'
 * @import { Send } from './requests.js'
 * @typedef {{ name: string, id: string | undefined, data: string | undefined, retryMs: number | undefined }} Frame
 */

/** The server sends at least a comment every 15 s. */
const SILENCE_MAX_MS = 45_000
const RECONNECT_MS = 1_000
/** However long an outage takes, its end should be noticed. */
const ASKED_MAX_MS = 60_000
/** How many events to remember, so that one that is sent again is not shown again. */
const REMEMBERED = 1_000

/**
 * Follows the change feed: connects again whenever it breaks off, and goes on after the last event.
 * @param {Send} send
 * @param {number} [retries] how often a stream may end before it is ready, until it counts as a failure
 * @param {FollowOptions} [options]
 * @returns {Followed}
 */
export function follow(send, retries = RETRIES, { signal, since, onConnection, ...filters } = {}) {
  let position = since ?? undefined
  let isConnected = false
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  const events = untilLeft()
  const end = events.return.bind(events)
  /** A generator's own `return` and `throw` wait for its `next`, which here may take for ever. */
  const returnAtOnce = (/** @type {any} */ value) => {
    leave()
    return end(value)
  }
  /** @param {unknown} error */
  const throwAtOnce = async error => {
    await returnAtOnce(undefined)
    throw error
  }
  return /** @type {any} */ (
    Object.defineProperties(events, {
      position: { get: () => position },
      isConnected: { get: () => isConnected },
      return: { value: returnAtOnce },
      throw: { value: throwAtOnce },
    })
  )

  /** @param {boolean} is */
  function connected(is) {
    if (is === isConnected) return
    isConnected = is
    onConnection?.(is)
  }

  /** @returns {AsyncGenerator<CatalogEvent, void, undefined>} */
  async function* untilLeft() {
    const forget = whenAborted(signal, leave)
    if (signal?.aborted) leave()
    try {
      yield* generate(leaving.signal)
    } finally {
      forget()
    }
  }

  /**
   * @param {AbortSignal} left
   * @returns {AsyncGenerator<CatalogEvent, void, undefined>}
   */
  async function* generate(left) {
    /** @type {Set<string>} */
    const seen = new Set()
    let reconnectMs = RECONNECT_MS
    let wasReady = false
    let failed = 0
    while (!left.aborted) {
      let askedMs = 0
      try {
        const { response } = await send('GET', '/events', {
          query: { ...filters, since: position },
          headers: { Accept: 'text/event-stream' },
          isStream: true,
          signal: left,
          // If the first connection fails, the caller should know. Later ones are tried for as long as it takes.
          ...(wasReady && { retries: 0 }),
        })
        for await (const { name, id, data, retryMs } of framesOf(response, left)) {
          connected(true)
          reconnectMs = retryMs ?? reconnectMs
          if (data === undefined) {
            // The position moves on although the filters let nothing through.
            position = id ?? position
            continue
          }
          const event = eventIn(name, id, data)
          // A reset has the id of the last event that is left, which may have been shown before the others were lost.
          const isChange = event.type !== 'ready' && event.type !== 'reset'
          const isRepeated = isChange ? seen.has(event.id) : wasReady && event.type === 'ready'
          wasReady = true
          failed = 0
          if (isRepeated) continue
          if (isChange) remember(seen, event.id)
          position = event.id
          yield event
        }
        if (!wasReady && failed >= retries)
          throw new Unavailable({ request: 'GET /events', detail: 'the answer is not a stream of events' })
      } catch (error) {
        if (left.aborted) return
        if (!(wasReady && error instanceof StockroomError && isOutage(error))) throw error
        askedMs = Math.min((error.retryAfter ?? 0) * 1_000, ASKED_MAX_MS)
      } finally {
        connected(false)
      }
      await pause(Math.max(askedMs, backoffMs(failed, reconnectMs)), left).catch(() => {})
      failed += 1
    }
  }
}

/**
 * Whether somebody who follows should wait for the end of it. A proxy without a server behind it says 503, too, or 404.
 * @param {StockroomError} error
 */
function isOutage({ status = 502 }) {
  return status >= 500 || [404, 408, 429].includes(status)
}

/**
 * Reads frames until the stream ends, breaks off or falls silent. A frame that was cut is dropped.
 * @param {Response} response
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Frame, void, undefined>}
 */
async function* framesOf({ body }, signal) {
  if (!body) return
  const reader = body.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', stop)
  const decoder = new TextDecoder()
  let text = ''
  try {
    while (!signal.aborted) {
      const timer = setTimeout(stop, SILENCE_MAX_MS)
      const { value } = await reader
        .read()
        .catch(() => ({ value: undefined }))
        .finally(() => clearTimeout(timer))
      if (value === undefined) return
      const frames = (text + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      text = frames.pop() ?? ''
      for (const frame of frames) {
        if (signal.aborted) return
        yield frameIn(frame)
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/**
 * @param {string} text
 * @returns {Frame}
 */
function frameIn(text) {
  /** @type {Record<string, string>} */
  const fields = {}
  for (const line of text.split(/\r?\n/)) {
    // Without `s`, a value would end at U+2028, which JSON may contain.
    const [, name = '', value = ''] = /^(\w+): ?(.*)/s.exec(line) ?? []
    fields[name] = name === 'data' && name in fields ? `${fields[name]}\n${value}` : value
  }
  const { event = 'message', id, data, retry } = fields
  return { name: event, id, data, retryMs: Number(retry) || undefined }
}

/**
 * @param {string} name
 * @param {string | undefined} id
 * @param {string} data
 */
function eventIn(name, id, data) {
  const value = JSON.parse(data)
  return value.type ? value : { id, type: name, data: value }
}

/**
 * @param {Set<string>} seen
 * @param {string} id
 */
function remember(seen, id) {
  seen.add(id)
  const [oldest = id] = seen
  if (seen.size > REMEMBERED) seen.delete(oldest)
}
