import { getLogger } from '@logtape/logtape'
import type { Log } from '../program/log.ts'
import type { Observer } from './requests.ts'

const logger = getLogger(['stockroom', 'request'])

/** Text that is the same within a JSON string. */
const JSON_PLAIN = /^[\w/.~%?&=-]*$/

/** Logs one line for each request, unless it is off. */
export function loggedRequests(log: Log, isOn: boolean): readonly Observer[] {
  if (!isOn) return []
  const add = requestLines(log)
  return [
    {
      // Read it now: it is unknown once the client has disconnected.
      begin: scope => scope.clientAddress,
      end: ({ request, scope, target, response, durationMs }) =>
        add({
          requestId: scope.requestId,
          traceId: scope.trace?.traceId ?? null,
          client: scope.clientAddress,
          key: scope.key?.name ?? null,
          method: request.method,
          path: target.loggedPath(request),
          status: response.status,
          durationMs: Math.round(durationMs * 1000) / 1000,
        }),
    },
  ]
}

/** A line of the access log. */
interface RequestRecord {
  /** Of characters that JSON does not escape, as is the client's address. */
  readonly requestId: string
  /** Of hexadecimal digits; `null` if the request belongs to no trace. */
  readonly traceId: string | null
  readonly client: string
  /** The name of the client's access key, also of such characters; `null` without one. */
  readonly key: string | null
  readonly method: string
  readonly path: string
  readonly status: number
  readonly durationMs: number
}

/** Puts the same text together as LogTape would, in a fifth of the time. */
function requestLines({ worker, addInfo }: Log): (record: RequestRecord) => void {
  if (addInfo === null) return logRecord
  const which = worker === null ? '' : `"worker":${worker},`
  let now = 0
  let beginning = ''
  return ({ requestId, traceId, client, key, method, path, status, durationMs }) =>
    addInfo(() => {
      const time = Date.now()
      if (time !== now) {
        now = time
        beginning = `{"time":"${new Date(time).toISOString()}","level":"info",${which}"logger":"request","message":"`
      }
      const target = JSON_PLAIN.test(path) ? path : JSON.stringify(path).slice(1, -1)
      const trace = traceId === null ? '' : `"trace_id":"${traceId}",`
      const ofKey = key === null ? '' : `,"key":"${key}"`
      const ids = `"request_id":"${requestId}",${trace}"client":"${client}"${ofKey}`
      const rest = `"method":"${method}","path":"${target}","status":${status},"duration_ms":${durationMs}`
      return `${beginning}${method} ${target} ${status}",${ids},${rest}}\n`
    })
}

function logRecord({ requestId, traceId, client, key, method, path, status, durationMs }: RequestRecord): void {
  logger.info('{method} {path} {status}', {
    request_id: requestId,
    ...(traceId !== null && { trace_id: traceId }),
    client,
    ...(key !== null && { key }),
    method,
    path,
    status,
    duration_ms: durationMs,
  })
}
