/** @import { ErrorFacts, ValidationError } from './index.d.ts' */

/** Any answer but a success, and no answer at all. The others below are kinds of it. */
export class StockroomError extends Error {
  name = 'StockroomError'
  /** Ids of what `createMany` had created before it failed. @type {number[]} */
  created = []

  /** @param {ErrorFacts} facts */
  constructor({ request, status, detail, retryAfter, mayBeDone = false, cause }) {
    super(
      `${request}: ${status === undefined ? '' : `${status} `}${explained(detail)}`,
      cause === undefined ? undefined : { cause },
    )
    this.status = status
    this.detail = detail
    this.retryAfter = retryAfter
    this.mayBeDone = mayBeDone
  }
}

export class NotFound extends StockroomError {
  name = 'NotFound'
  /** @type {string | null} */
  resource = /^(.+) not found$/.exec(explained(this.detail))?.[1] ?? null
}

export class Invalid extends StockroomError {
  name = 'Invalid'
  /** @type {ValidationError[]} */
  errors = Array.isArray(this.detail) ? this.detail : []
}

export class Conflict extends StockroomError {
  name = 'Conflict'
}

export class Unauthorized extends StockroomError {
  name = 'Unauthorized'
}

export class RateLimited extends StockroomError {
  name = 'RateLimited'
}

export class Unavailable extends StockroomError {
  name = 'Unavailable'
}

/** @type {Readonly<Record<number, typeof StockroomError>>} */
const KINDS = {
  401: Unauthorized,
  403: Unauthorized,
  404: NotFound,
  408: Unavailable,
  409: Unavailable,
  412: Conflict,
  422: Invalid,
  429: RateLimited,
}

/**
 * The error that an answer stands for.
 * @param {string} request method and path, without the query, which may be personal
 * @param {Response} response
 * @param {string} text its body
 * @param {number} firstLine how many lines were sent before those that it counts
 */
export function errorOf(request, { status, statusText, headers }, text, firstLine) {
  const Kind = KINDS[status] ?? (status >= 500 ? Unavailable : StockroomError)
  return new Kind({
    request,
    status,
    detail: detailIn(text, firstLine) ?? statusText,
    retryAfter: secondsUntil(headers.get('Retry-After')),
  })
}

/**
 * @param {string} text
 * @param {number} firstLine
 */
function detailIn(text, firstLine) {
  try {
    const { detail } = JSON.parse(text)
    for (const { loc } of Array.isArray(detail) ? detail : []) if (Number.isInteger(loc[1])) loc[1] += firstLine
    return detail
  } catch {
    // A proxy answers with a page of its own.
    return undefined
  }
}

/**
 * Reads `Retry-After`, in seconds or as a date.
 * @param {string | null} value
 */
function secondsUntil(value) {
  if (value === null) return undefined
  // Two of them are joined by a comma.
  const seconds = Number.parseFloat(value)
  const until = Number.isNaN(seconds) ? (Date.parse(value) - Date.now()) / 1_000 : seconds
  return Number.isNaN(until) ? undefined : Math.max(until, 0)
}

/** @param {string | readonly ValidationError[]} detail */
function explained(detail) {
  if (!Array.isArray(detail)) return String(detail)
  return detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ')
}
