import { Conflict, NotFound, StockroomError } from './errors.js'
import { listAt } from './pages.js'
import { backoffMs, MAY_RESEND, pause, unlessAborted } from './requests.js'

/**
 * @import { Answer, Limits, Send } from './requests.js'
 * @typedef {object} Resource
 * @typedef {Limits & { idempotencyKey?: string | undefined }} CreateLimits
 * @typedef {Limits & { ifMatch?: string | undefined }} WriteLimits
 */

/** The largest body of NDJSON that the server takes. */
const PART_MAX_BYTES = 8 * 1_024 * 1_024
/** Each password counts as so much: the server hashes it, for some 20 ms, so a part that is full of them would take minutes. */
const PASSWORD_BYTES = 32_768
/** The server takes so long for a body of NDJSON at most. */
const PART_TIMEOUT_MS = 120_000
/** Each of these is lost only to somebody else's update. */
const EDIT_TRIES_MAX = 100

/** @type {WeakMap<object, string>} */
const tags = new WeakMap()

/** @type {typeof import('./index.d.ts').tagOf} */
export const tagOf = resource => tags.get(resource)

/**
 * The operations on one collection.
 * @param {Send} send
 * @param {string} path
 * @param {'PUT' | 'PATCH'} updating its method of updates
 */
export function resourceAt(send, path, updating) {
  /** @param {number} id */
  const one = id => `${path}${encodeURIComponent(id)}`

  return {
    ...listAt(send, path),

    /**
     * @param {number} id
     * @param {Limits & { fields?: readonly PropertyKey[] | undefined }} [options]
     */
    async get(id, { fields, ...limits } = {}) {
      return tagged(await send('GET', one(id), { ...limits, query: { fields } }))
    },

    /**
     * @param {Resource} resource
     * @param {CreateLimits & { category?: number | undefined }} [options]
     */
    async create(resource, { category, idempotencyKey = randomKey(), ...limits } = {}) {
      const place = category === undefined ? path : `${one(category)}/products`
      const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': quoted(idempotencyKey) }
      return tagged(await send('POST', place, { ...limits, headers, body: JSON.stringify(resource) }))
    },

    /**
     * @param {Iterable<Resource> | AsyncIterable<Resource>} lines
     * @param {CreateLimits} [options]
     */
    createMany: (lines, options = {}) => unlessAborted(createParts(lines, options), options.signal),

    /**
     * @param {number} id
     * @param {Resource} resource
     * @param {WriteLimits} [options]
     */
    update: async (id, resource, options = {}) => write(id, resource, matching(options), options),

    /**
     * @param {number} id
     * @param {(resource: any) => any} change
     * @param {Limits} [limits]
     */
    async edit(id, change, limits = {}) {
      /** @type {Conflict | undefined} */
      let doubt
      /** @type {any} */
      let sent
      for (let tried = 1; ; tried += 1) {
        const current = tagged(await send('GET', one(id), limits).catch(error => unread(error, doubt, limits)))
        const changed = await unlessAborted(change(structuredClone(current)), limits.signal)
        if (changed === undefined)
          throw new TypeError('edit: the function returned nothing; return the changed resource')
        if (doubt && (doubt.mayBeDone || isIn(sent, current))) {
          // This edit may have been done, so one that still changes something might be done twice.
          if (isIn(changed, current)) return current
          doubt.mayBeDone = true
          throw doubt
        }
        const tag = tagOf(current)
        if (!tag) throw new StockroomError({ request: `GET ${one(id)}`, detail: 'the answer has no ETag' })
        try {
          return await write(id, changed, { 'If-Match': tag }, limits)
        } catch (error) {
          if (!(error instanceof Conflict) || tried === EDIT_TRIES_MAX) throw error
          doubt = error.mayBeDone || MAY_RESEND ? error : undefined
          sent = changed
          await pause(backoffMs(0), limits.signal)
        }
      }
    },

    /**
     * @param {number} id
     * @param {WriteLimits} [options]
     */
    async delete(id, options = {}) {
      const headers = matching(options)
      try {
        return (await send('DELETE', one(id), { ...options, headers })).body
      } catch (error) {
        // A 404 without a resource is that of a proxy, which has lost its server.
        if (error instanceof NotFound && error.mayBeDone && error.resource && isOwn(error, options)) return null
        throw error
      }
    },
  }

  /**
   * @param {Iterable<Resource> | AsyncIterable<Resource>} lines
   * @param {CreateLimits} options
   */
  async function createParts(lines, { idempotencyKey = randomKey(), timeoutMs = PART_TIMEOUT_MS, ...limits }) {
    /** @type {number[]} */
    const ids = []
    let firstLine = 0
    let number = 0
    try {
      for await (const { body, count } of partsOf(lines, limits.signal)) {
        number += 1
        const key = number === 1 ? idempotencyKey : `${idempotencyKey}.${number}`
        const headers = { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': quoted(key) }
        const answer = await send('POST', path, { timeoutMs, ...limits, headers, body, firstLine })
        for (const id of answer.body.ids) ids.push(id)
        firstLine += count
      }
    } catch (error) {
      // An error of the lines is the caller's own, and may be frozen.
      if (error instanceof Error && isOwn(error, limits)) Reflect.set(error, 'created', ids)
      throw error
    }
    return { created: ids.length, ids }
  }

  /**
   * @param {number} id
   * @param {Resource} resource
   * @param {Record<string, string>} headers
   * @param {Limits} [limits]
   */
  async function write(id, resource, headers, limits) {
    const body = JSON.stringify(resource, withoutEmbedded)
    const request = { ...limits, headers: { 'Content-Type': 'application/json', ...headers }, body }
    return tagged(await send(updating, one(id), request))
  }
}

/**
 * Keeps the tag of a resource.
 * @param {Answer} answer
 */
function tagged({ response, body }) {
  // Proxies that compress make the tag weak, and a weak one never matches.
  const tag = response.headers.get('ETag')?.replace(/^W\//, '')
  if (tag && body instanceof Object) tags.set(body, tag)
  return body
}

/**
 * @param {WriteLimits} options
 * @returns {Record<string, string>}
 */
function matching(options) {
  if (!('ifMatch' in options)) return {}
  if (options.ifMatch) return { 'If-Match': options.ifMatch }
  // Without the header, it would undo what others have written.
  throw new TypeError(
    'ifMatch is undefined: tagOf knows what get, create, update and edit returned, no copies or proxies',
  )
}

/**
 * Throws the error of a read before a write. Only what was written before may be done.
 * @param {unknown} error
 * @param {Conflict | undefined} doubt
 * @param {Limits} limits
 * @returns {never}
 */
function unread(error, doubt, limits) {
  if (error instanceof StockroomError && isOwn(error, limits)) error.mayBeDone = doubt !== undefined
  throw error
}

/**
 * Whether an error is that of this call. The reason of a signal may be the error of another one.
 * @param {Error} error
 * @param {Limits} limits
 */
function isOwn(error, { signal }) {
  return error !== signal?.reason
}

/**
 * The lines as NDJSON, in parts that the server takes.
 * @param {Iterable<Resource> | AsyncIterable<Resource>} lines
 * @param {AbortSignal | undefined} signal
 */
async function* partsOf(lines, signal) {
  const encoder = new TextEncoder()
  let part = { body: '', bytes: 0, count: 0 }
  for await (const line of lines) {
    signal?.throwIfAborted()
    const text = `${JSON.stringify(line)}\n`
    const length = encoder.encode(text).length + (Object(line).password ? PASSWORD_BYTES : 0)
    if (part.count > 0 && part.bytes + length > PART_MAX_BYTES) {
      yield part
      part = { body: '', bytes: 0, count: 0 }
    }
    part.body += text
    part.bytes += length
    part.count += 1
  }
  if (part.count > 0) yield part
}

/**
 * Leaves out what the server embeds, such as reviews: an update consists of numbers and texts.
 * @param {string} name
 * @param {unknown} value
 */
function withoutEmbedded(name, value) {
  return name !== '' && value instanceof Object ? undefined : value
}

/**
 * Whether a resource has all these fields already.
 * @param {Record<string, unknown>} changed
 * @param {Record<string, unknown>} current
 */
function isIn(changed, current) {
  return Object.keys(changed).every(name => changed[name] instanceof Object || changed[name] === current[name])
}

/** `crypto.randomUUID()` is missing on pages without HTTPS. */
function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** @param {string} key */
function quoted(key) {
  return `"${key.replace(/["\\]/g, '\\$&')}"`
}
