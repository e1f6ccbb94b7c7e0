import { getLogger } from '@logtape/logtape'
import type { LineWriter, Log } from '../program/log.ts'
import type { Exchange, Observer } from './requests.ts'

const logger = getLogger(['stockroom', 'request'])

/** Logs one line for each request. */
export function loggedRequests({ worker, addInfo }: Log): readonly Observer[] {
  const logRequest = (exchange: Exchange) => logger.info('{method} {path} {status}', described(exchange))
  const end = addInfo === null ? logRequest : requestLines(worker, addInfo)
  // Read the address now: it is unknown once the client has disconnected.
  return [{ begin: scope => scope.clientAddress, end }]
}

/** Makes the same line as LogTape would, in a small part of the time. */
function requestLines(worker: number | null, addInfo: LineWriter): (exchange: Exchange) => void {
  const beginning = { level: 'info', ...(worker !== null && { worker }), logger: 'request' }
  return exchange =>
    addInfo(() => {
      const properties = described(exchange)
      const message = `${properties.method} ${properties.path} ${properties.status}`
      return `${JSON.stringify({ time: new Date().toISOString(), ...beginning, message, ...properties })}\n`
    })
}

/** Members without a value are left out of the line. */
function described({ request, scope, target, response, durationMs }: Exchange) {
  return {
    request_id: scope.requestId,
    trace_id: scope.trace?.traceId,
    client: scope.clientAddress,
    key: scope.key?.name,
    method: request.method,
    path: target.loggedPath(request),
    status: response.status,
    duration_ms: Math.round(durationMs * 1000) / 1000,
  }
}
