import { errorOf, StockroomError, Unavailable } from './errors.js'

/**
 * @import { ClientOptions } from './index.d.ts'
 * @typedef {object} Query
 * @typedef {{ retries?: number | undefined, timeoutMs?: number | undefined, signal?: AbortSignal | undefined }} Limits
 * @typedef {{ query?: Query | undefined, headers?: Record<string, string>, body?: string }} Content
 * @typedef {{ isStream?: boolean, firstLine?: number }} Reading `firstLine`: how many lines of NDJSON were sent before
 * @typedef {Limits & Content & Reading} Sent
 * @typedef {{ response: Response, body: any }} Answer
 * @typedef {(method: string, path: string, request?: Sent) => Promise<Answer>} Send
 */

/** Nothing is done twice if these are sent twice: a POST has its key. */
const REPEATABLE = ['GET', 'POST']
/** Browsers send any request again, unseen, if a connection that was used before closes without an answer. */
export const MAY_RESEND = 'document' in globalThis || 'WorkerGlobalScope' in globalThis

export const RETRIES = 4
const TIMEOUT_MS = 10_000
/** A timer that is set to more ends at once. */
const TIMER_MAX_MS = 2 ** 31 - 1
const BACKOFF_MS = 100
const BACKOFF_MAX_MS = 10_000
/** What the server says is obeyed, but nobody should hang for an hour. */
const RETRY_AFTER_MAX_SECONDS = 60

/** @type {WeakMap<AbortSignal, ReturnType<typeof listenerFor>>} */
const listeners = new WeakMap()

/**
 * Makes the function that sends all requests of a client. It repeats a request whose failure may pass, and resolves to the
 * first answer of success.
 * @param {string | URL} address
 * @param {ClientOptions} options
 * @returns {Send}
 */
export function sender(address, { key, retries = RETRIES, timeoutMs = TIMEOUT_MS, fetch = globalFetch }) {
  const base = String(address).replace(/\/+$/, '')
  const always = key ? { Authorization: `Bearer ${key}` } : {}
  // Throws now if the address or the key can never be sent.
  const { protocol, origin, search, hash } = new URL(new Request(`${base}/`, { headers: always }).url)
  // `localhost:8000` is a URL, too, of the scheme `localhost`.
  if (!/^https?:$/.test(protocol)) throw new TypeError('an address begins with http:// or https://')
  if (search || hash) throw new TypeError('the address has a query or fragment; leave it out')
  const isOwn = origin === (globalThis.location?.origin ?? origin)

  return async (method, path, { query = {}, headers, body, isStream = false, firstLine = 0, ...limits } = {}) => {
    const { signal } = limits
    const url = base + path + searchOf(query)
    // Because of this header, another origin is asked for its permission before each new URL. Before a write it is, anyway.
    const isStrict = isOwn || method !== 'GET'
    const init = {
      method,
      headers: { ...always, ...(isStrict && { Prefer: 'handling=strict' }), ...headers },
      ...(body !== undefined && { body }),
    }
    // Throws now if a header can never be sent, such as a key in Chinese.
    new Headers(init.headers)
    const name = `${method} ${path.replace(/\?.*/, '')}`
    let mayBeDone = false
    let hasFailed = false
    for (let tried = 0; ; tried += 1) {
      const answer = await attempt(limits.timeoutMs ?? timeoutMs)
      if (!(answer instanceof StockroomError)) return answer
      const { status } = answer
      mayBeDone ||= hadNoAnswer(answer) || status === 503
      answer.mayBeDone = mayBeDone
      const isFailure = status === 408 || status === 500
      const isFinal = !mayPass(answer) || (isFailure && hasFailed)
      hasFailed ||= isFailure
      if (isFinal || tried >= (limits.retries ?? retries)) throw answer
      const { retryAfter } = answer
      await pause(retryAfter === undefined ? backoffMs(tried) : retryAfter * 1_000 + backoffMs(0), signal)
    }

    /**
     * @param {number} withinMs
     * @returns {Promise<Answer | StockroomError>}
     */
    async function attempt(withinMs) {
      signal?.throwIfAborted()
      // Neither AbortSignal.any() nor its garbage collection can be relied on in Node 20.
      const controller = new AbortController()
      const stop = () => controller.abort(signal?.reason)
      const late = () => controller.abort(new Error(`no answer within ${withinMs} ms`))
      const timer = setTimeout(late, Math.min(withinMs, TIMER_MAX_MS))
      const forget = whenAborted(signal, stop)
      try {
        const once = REPEATABLE.includes(method) ? {} : unrepeatable(body)
        const response = await fetch(url, { ...init, ...once, signal: controller.signal })
        // Another server at this address may answer with a page, which is read below.
        const isOpen = isStream && response.headers.get('Content-Type')?.startsWith('text/event-stream')
        if (isOpen && response.ok) return { response, body: null }
        const text = await response.text()
        if (!response.ok) return errorOf(name, response, text, firstLine)
        if (isStream) return new Unavailable({ request: name, detail: 'the answer is not a stream of events' })
        const answered = JSON.parse(text)
        // A redirect with 301 or 302, as from http to https, makes a GET of a POST, and one with 303 of any method. A list is the
        // answer to a GET, and so is one that says that it was strict.
        const isRead = response.headers.has('Preference-Applied') || Array.isArray(answered)
        if (method === 'GET' || !isRead) return { response, body: answered }
        const detail = `redirected to ${response.url} as a GET, so nothing was written; use that address`
        return new StockroomError({ request: name, status: response.status, detail })
      } catch (failure) {
        signal?.throwIfAborted()
        const cause = controller.signal.aborted ? controller.signal.reason : failure
        const problem = cause instanceof SyntaxError ? 'the answer is not JSON' : 'no answer'
        // Node says "fetch failed", and the reason below. If it tried several addresses, that has a code alone.
        const reason = cause?.cause?.message || cause?.cause?.code || cause?.message || cause
        return new Unavailable({ request: name, detail: `${problem}: ${reason}`, cause })
      } finally {
        clearTimeout(timer)
        forget()
      }
    }
  }
}

/**
 * Bun and Deno send a request again as browsers do. Nobody could know then whose change a 412 or 404 is about. Bun does not if it
 * opens a connection, and Deno does not if it cannot read the body again.
 * @param {string} [body]
 */
function unrepeatable(body = '') {
  if (!('Deno' in globalThis)) return { keepalive: false }
  const start = (/** @type {ReadableStreamDefaultController} */ stream) => {
    stream.enqueue(new TextEncoder().encode(body))
    stream.close()
  }
  return { body: new ReadableStream({ start }), duplex: 'half' }
}

/**
 * Whether the same request may get another answer soon. A 503 without `Retry-After` means that the database is damaged.
 * @param {StockroomError} error
 */
function mayPass(error) {
  const { status = 0, retryAfter } = error
  if (retryAfter !== undefined && retryAfter > RETRY_AFTER_MAX_SECONDS) return false
  return hadNoAnswer(error) || [408, 409, 429, 500].includes(status) || (status === 503 && retryAfter !== undefined)
}

/**
 * Whether the request did not reach the server, or its answer did not reach us. 502 and all above but 503, such
 * as 520 to 524 of Cloudflare, are proxies' words for it.
 * @param {StockroomError} error
 */
function hadNoAnswer({ status = 502 }) {
  return status >= 502 && status !== 503
}

/**
 * The time before the next attempt, with jitter, so that clients that failed together do not come back together.
 * @param {number} tried
 * @param {number} [firstMs]
 */
export function backoffMs(tried, firstMs = BACKOFF_MS) {
  return Math.min(firstMs * 2 ** tried, BACKOFF_MAX_MS) * (0.5 + Math.random() / 2)
}

/**
 * @param {number} ms
 * @param {AbortSignal | undefined} [signal]
 * @returns {Promise<void>} rejected with the signal's reason if it is aborted
 */
export function pause(ms, signal) {
  /** @type {ReturnType<typeof setTimeout>} */
  let timer
  const over = new Promise(resolve => {
    timer = setTimeout(resolve, ms)
  })
  return unlessAborted(over, signal).finally(() => clearTimeout(timer))
}

/**
 * Settles as the promise does, or rejects with the signal's reason if it is aborted first. Code of the caller's own, for which a call
 * waits, does not know the signal.
 * @template Value
 * @param {Value | Promise<Value>} promise
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Value>}
 */
export function unlessAborted(promise, signal) {
  let forget = () => {}
  /** @type {Promise<never>} */
  const aborted = new Promise((_, reject) => {
    const stop = () => reject(signal?.reason)
    forget = whenAborted(signal, stop)
    if (signal?.aborted) stop()
  })
  return Promise.race([promise, aborted]).finally(forget)
}

/**
 * Calls `stop` if the signal is aborted. All calls with one signal share a listener, because Node warns of a leak if it has more
 * than ten.
 * @param {AbortSignal | undefined} signal
 * @param {() => void} stop
 * @returns {() => void} forgets it
 */
export function whenAborted(signal, stop) {
  if (!signal) return () => {}
  const listener = listeners.get(signal) ?? listenerFor(new Set())
  listeners.set(signal, listener)
  listener.stops.add(stop)
  signal.addEventListener('abort', listener)
  return () => {
    listener.stops.delete(stop)
    if (listener.stops.size === 0) signal.removeEventListener('abort', listener)
  }
}

/** @param {Set<() => void>} stops */
function listenerFor(stops) {
  const handleEvent = () => {
    for (const stop of stops) stop()
  }
  return { stops, handleEvent }
}

/** @param {Query} query */
function searchOf(query) {
  const given = Object.entries(query).filter(isGiven)
  const search = String(new URLSearchParams(given.map(([name, value]) => [name, String(value)])))
  return search && `?${search}`
}

/**
 * Whether a parameter is sent. In a filter of which nothing is chosen, an empty array stands for all; as ids it stands for none,
 * and the server says that it needs some.
 * @param {[name: string, value: unknown]} parameter
 */
export function isGiven([name, value]) {
  return value !== undefined && value !== null && (name === 'id' || !isEmpty(value))
}

/** @param {unknown} value */
export function isEmpty(value) {
  return Array.isArray(value) && value.length === 0
}

/** @type {NonNullable<ClientOptions['fetch']>} */
function globalFetch(url, init) {
  return globalThis.fetch(url, init)
}
