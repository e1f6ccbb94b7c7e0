import { write } from 'node:fs'
import { configureSync, getAnsiColorFormatter, getLogger, type LogLevel, type TextFormatter } from '@logtape/logtape'

const requestLog = getLogger(['stockroom', 'request'])

const STANDARD_ERROR = 2

/** Text that is the same within a JSON string. */
const JSON_PLAIN = /^[\w/.~%?&=-]*$/

/** The pause before retrying to write into a full pipe that does not block. */
const RETRY_MS = 20

/** A pipe takes so much in one piece, even if several processes write to it (PIPE_BUF of Linux). */
const SHARED_WRITE_MAX_BYTES = 4_096

const NEWLINE = 10

/** Limit on text that waits for standard error; beyond it, lines are dropped and counted. */
const BACKLOG_MAX_CHARACTERS = 1_048_576

/**
 * Sends logs to standard error: one JSON object per line, or colored text at a terminal. A worker's lines have its number,
 * because all workers write to the same place.
 */
export function startLog(level: LogLevel, worker: number | null = null): void {
  const format = process.stderr.isTTY ? terminalLines(worker) : jsonLines(worker)
  const write = lineWriter(worker === null ? Number.POSITIVE_INFINITY : SHARED_WRITE_MAX_BYTES)
  writeRequest = process.stderr.isTTY || (level !== 'debug' && level !== 'info') ? null : requestLines(worker, write)
  configureSync({
    reset: true,
    sinks: { standardError: record => write(() => format(record)) },
    loggers: [
      { category: 'stockroom', lowestLevel: level, sinks: ['standardError'] },
      { category: ['logtape', 'meta'], lowestLevel: 'error', sinks: ['standardError'] },
    ],
  })
}

/**
 * Not LogTape's `getJsonLinesFormatter`: it names the fields differently (`@timestamp`, `INFO`), which would break the log
 * pipelines of operators, and it quotes the texts in messages.
 */
function jsonLines(worker: number | null): TextFormatter {
  const which = worker === null ? {} : { worker }
  return ({ timestamp, level, category, message, properties }) => {
    const time = new Date(timestamp).toISOString()
    const logger = category.slice(1).join('.')
    return `${JSON.stringify({ time, level, ...which, logger, message: message.join(''), ...properties })}\n`
  }
}

function terminalLines(worker: number | null): TextFormatter {
  const format = getAnsiColorFormatter({ timestamp: 'time', value: String })
  return worker === null ? format : record => `[${worker}] ${format(record)}`
}

/** A line of the access log. */
export interface RequestRecord {
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

/** `null` if LogTape writes, or drops, the lines of the access log. */
let writeRequest: ((record: RequestRecord) => void) | null = null

/**
 * Writes a line of the access log. At a terminal LogTape does that; otherwise the same text is put together here, which
 * takes a fifth of the time.
 */
export function logRequest(record: RequestRecord): void {
  if (writeRequest) {
    writeRequest(record)
    return
  }
  const { requestId, traceId, client, key, method, path, status, durationMs } = record
  requestLog.info('{method} {path} {status}', {
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

function requestLines(worker: number | null, write: LineWriter): (record: RequestRecord) => void {
  const which = worker === null ? '' : `"worker":${worker},`
  let now = 0
  let beginning = ''
  return ({ requestId, traceId, client, key, method, path, status, durationMs }) =>
    write(() => {
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

type LineWriter = (line: () => string) => void

/** Writes the lines of one event-loop turn together, and lines that arrive during a write in the next write. */
function lineWriter(writeMaxBytes: number): LineWriter {
  let queued = ''
  let dropped = 0
  let writing = false
  const drain = async () => {
    while (queued !== '') {
      const bytes = Buffer.from(queued)
      queued = ''
      for (let start = 0; start < bytes.length; ) {
        const end = endOfWrite(bytes, start, writeMaxBytes)
        await writeFully(bytes.subarray(start, end))
        start = end
      }
    }
    writing = false
  }
  return line => {
    if (queued.length > BACKLOG_MAX_CHARACTERS) {
      dropped += 1
      return
    }
    if (dropped > 0) {
      queued += `${JSON.stringify({ level: 'warning', message: 'log lines were dropped', dropped })}\n`
      dropped = 0
    }
    queued += line()
    if (writing) return
    writing = true
    setImmediate(drain)
  }
}

/** As many whole lines as fit into one write. A longer line is written by itself. */
function endOfWrite(bytes: Buffer, start: number, maxBytes: number): number {
  if (bytes.length - start <= maxBytes) return bytes.length
  const last = bytes.lastIndexOf(NEWLINE, start + maxBytes - 1)
  return 1 + (last >= start ? last : bytes.indexOf(NEWLINE, start + maxBytes))
}

/** Resolves when the bytes are written, or cannot be: losing logs must not stop the server. */
function writeFully(bytes: Buffer): Promise<void> {
  return new Promise(resolve => {
    write(STANDARD_ERROR, bytes, (error, count) => {
      if (error?.code === 'EAGAIN') setTimeout(() => resolve(writeFully(bytes)), RETRY_MS)
      else if (error || count === bytes.length) resolve()
      else resolve(writeFully(bytes.subarray(count)))
    })
  })
}
