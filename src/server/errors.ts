import { getLogger } from '@logtape/logtape'
import { DatabaseDamagedError, DatabaseReplacedError, DatabaseUnavailableError } from '../database/errors.ts'
import { BusyError, ClientLimitError } from '../limits/busy-error.ts'

const serverLog = getLogger(['stockroom', 'server'])
const databaseLog = getLogger(['stockroom', 'database'])

/** nginx's status for a client that disconnects before the response. It appears only in the log. */
const CLIENT_CLOSED_REQUEST = 499

/** `Retry-After` of the 503 while the database is unavailable. */
const UNAVAILABLE_RETRY_SECONDS = 1

/** Answers the request with an error status and a message that is safe to show to the client. */
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

/** The only place where an error becomes a response. The cause goes to the log, never to the client. */
export function errorResponse(error: unknown, requestId: string): Response {
  if (error instanceof HttpError) return detailResponse(error.status, error.message, error.headers)
  // The request's signal was aborted, or its body was cut off.
  if (error instanceof DOMException && error.name === 'AbortError') {
    serverLog.debug('a client disconnected before the response', { request_id: requestId })
    return new Response(null, { status: CLIENT_CLOSED_REQUEST })
  }
  if (error instanceof BusyError) {
    return detailResponse(busyStatus(error), error.message, { 'Retry-After': String(error.retryAfterSeconds) })
  }
  logFailure(error, requestId)
  // Without Retry-After: retrying is useless until somebody acts.
  if (error instanceof DatabaseDamagedError) return detailResponse(503, 'The database is damaged')
  if (error instanceof DatabaseReplacedError) return detailResponse(503, 'The database was replaced')
  if (error instanceof DatabaseUnavailableError) {
    return detailResponse(503, 'The database is unavailable', { 'Retry-After': String(UNAVAILABLE_RETRY_SECONDS) })
  }
  return detailResponse(500, 'Internal Server Error')
}

/** The status for clients when a server or one client's share of it is busy. */
export function busyStatus(error: BusyError): 429 | 503 {
  return error instanceof ClientLimitError ? 429 : 503
}

/** Logs a failure on the server's side, in a handler or in a streamed response. */
export function logFailure(error: unknown, requestId: string): void {
  // Both are logged once, when they are detected.
  if (error instanceof DatabaseDamagedError || error instanceof DatabaseReplacedError) return
  if (error instanceof DatabaseUnavailableError) {
    databaseLog.error('{reason}', {
      request_id: requestId,
      reason: error.message,
      cause: error.cause && String(error.cause),
    })
    return
  }
  serverLog.error('a request failed: {reason}', {
    request_id: requestId,
    reason: String(error),
    stack: error instanceof Error ? error.stack : undefined,
  })
}

/** An error response in FastAPI's shape: `{"detail": "…"}`, or with several errors as its detail. */
export function detailResponse(
  status: number,
  detail: string | readonly object[],
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify({ detail }), {
    status,
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}
