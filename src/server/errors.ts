import { getLogger } from '@logtape/logtape'
import { BusyError } from '../busy-error.ts'
import { DatabaseDamagedError, DatabaseUnavailableError } from '../database/errors.ts'

const serverLog = getLogger(['stockroom', 'server'])
const databaseLog = getLogger(['stockroom', 'database'])

/** For the log alone, as nginx writes it: the client left before there was an answer. */
const CLIENT_LEFT = 499

/** What a 503 asks a client to wait before it tries again. */
const RETRY_AFTER_SECONDS = 1

/** A request that is answered with an error status and a reason that its sender may read. */
export class HttpError extends Error {
  override name = 'HttpError'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail)
    this.status = status
    this.headers = headers
  }
}

/** The one place where an error becomes an answer: its cause goes to the log, never to the client. */
export function errorResponse(error: unknown, requestId: string): Response {
  if (error instanceof HttpError) return detailResponse(error.status, error.message, error.headers)
  // The reason of a request's signal, and of a body that broke off.
  if (error instanceof DOMException && error.name === 'AbortError') {
    serverLog.debug('a client left before its answer', { request_id: requestId })
    return new Response(null, { status: CLIENT_LEFT })
  }
  if (error instanceof BusyError) {
    return detailResponse(503, error.message, { 'Retry-After': String(error.retryAfterSeconds) })
  }
  // Said once in the log when it was seen. A client need not try again before somebody has restored the database.
  if (error instanceof DatabaseDamagedError) return detailResponse(503, 'The database is damaged')
  if (error instanceof DatabaseUnavailableError) {
    databaseLog.error('{reason}', {
      request_id: requestId,
      reason: error.message,
      cause: error.cause && String(error.cause),
    })
    return detailResponse(503, 'The database is unavailable', { 'Retry-After': String(RETRY_AFTER_SECONDS) })
  }
  logFailure(error, requestId)
  return detailResponse(500, 'Internal Server Error')
}

/** For what breaks on our side, in a request or in the stream that answers it. */
export function logFailure(error: unknown, requestId: string): void {
  serverLog.error('a request failed: {reason}', {
    request_id: requestId,
    reason: String(error),
    stack: error instanceof Error ? error.stack : undefined,
  })
}

/** An answer in the shape of the framework that clients know: `{"detail": "…"}`. */
export function detailResponse(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ detail }), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}
