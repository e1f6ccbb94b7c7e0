import { getLogger } from '@logtape/logtape'
import type { LineWriter, Log } from '../program/log.ts'
import type { Exchange, Observer } from './requests.ts'

const logger = getLogger(['stockroom', 'request'])

/** Text that is the same within a JSON string. */
const JSON_PLAIN = /^[\w/.~%?&=-]*$/

/** Logs one line for each request, unless it is off. */
export function loggedRequests({ worker, addInfo }: Log, isOn: boolean): readonly Observer[] {
  if (!isOn) return []
  const end = addInfo === null ? logRequest : requestLines(worker, addInfo)
  // Read the address now: it is unknown once the client has disconnected.
  return [{ begin: scope => scope.clientAddress, end }]
}

/**
 * Puts the same text together as LogTape would, in a fifth of the time. The ids, the address and the name of a key have no
 * characters that JSON escapes.
 */
function requestLines(worker: number | null, addInfo: LineWriter): (exchange: Exchange) => void {
  const which = worker === null ? '' : `"worker":${worker},`
  let now = 0
  let beginning = ''
  return ({ request, scope, target, response, durationMs }) =>
    addInfo(() => {
      const time = Date.now()
      if (time !== now) {
        now = time
        beginning = `{"time":"${new Date(time).toISOString()}","level":"info",${which}"logger":"request","message":"`
      }
      const { requestId, trace, clientAddress, key } = scope
      const sent = target.loggedPath(request)
      const path = JSON_PLAIN.test(sent) ? sent : JSON.stringify(sent).slice(1, -1)
      const ofTrace = trace === null ? '' : `"trace_id":"${trace.traceId}",`
      const ofKey = key === null ? '' : `,"key":"${key.name}"`
      const ids = `"request_id":"${requestId}",${ofTrace}"client":"${clientAddress}"${ofKey}`
      const { method } = request
      const { status } = response
      const rest = `"method":"${method}","path":"${path}","status":${status},"duration_ms":${rounded(durationMs)}`
      return `${beginning}${method} ${path} ${status}",${ids},${rest}}\n`
    })
}

function logRequest({ request, scope, target, response, durationMs }: Exchange): void {
  logger.info('{method} {path} {status}', {
    request_id: scope.requestId,
    ...(scope.trace !== null && { trace_id: scope.trace.traceId }),
    client: scope.clientAddress,
    ...(scope.key !== null && { key: scope.key.name }),
    method: request.method,
    path: target.loggedPath(request),
    status: response.status,
    duration_ms: rounded(durationMs),
  })
}

function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}
