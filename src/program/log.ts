import { write } from 'node:fs'
import {
  configureSync,
  getAnsiColorFormatter,
  type LogLevel,
  type LogRecord,
  type TextFormatter,
} from '@logtape/logtape'
import { isErrorAtTerminal } from './output.ts'

const STANDARD_ERROR = 2

/** The pause before retrying to write into a full pipe that does not block. */
const RETRY_MS = 20

/** A pipe takes so much in one piece, even if several processes write to it (PIPE_BUF of Linux). */
const SHARED_WRITE_MAX_BYTES = 4_096

const NEWLINE = 10

/** Limit on text that waits for standard error; beyond it, lines are dropped and counted. */
const BACKLOG_MAX_CHARACTERS = 1_048_576

export type LineWriter = (line: () => string) => void

/** The log of this process. */
export interface Log {
  /** The number that a worker's lines have. */
  readonly worker: number | null
  /** Adds a line of level info, in JSON, as it is; `null` if such lines are dropped, or LogTape colors them for a terminal. */
  readonly addInfo: LineWriter | null
}

/**
 * Sends logs to standard error: one JSON object per line, or colored text at a terminal. A worker's lines have its number,
 * because all workers write to the same place.
 */
export function startLog(level: LogLevel, worker: number | null = null): Log {
  const isAtTerminal = isErrorAtTerminal()
  const format = isAtTerminal ? terminalLines(worker) : jsonLines(worker)
  const write = lineWriter(format, worker === null ? Number.POSITIVE_INFINITY : SHARED_WRITE_MAX_BYTES)
  configureSync({
    reset: true,
    sinks: { standardError: record => write(() => format(record)) },
    loggers: [
      { category: 'stockroom', lowestLevel: level, sinks: ['standardError'] },
      { category: ['logtape', 'meta'], lowestLevel: 'error', sinks: ['standardError'] },
    ],
  })
  const takesInfo = !isAtTerminal && (level === 'debug' || level === 'info')
  return { worker, addInfo: takesInfo ? write : null }
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

/** Writes the lines of one event-loop turn together, and lines that arrive during a write in the next write. */
function lineWriter(format: TextFormatter, writeMaxBytes: number): LineWriter {
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
      queued += format(recordOf(dropped))
      dropped = 0
    }
    queued += line()
    if (writing) return
    writing = true
    setImmediate(drain)
  }
}

/** Not by a logger of LogTape: the line must come before those that follow. */
function recordOf(dropped: number): LogRecord {
  const message = `${dropped} log lines were dropped`
  return {
    category: ['stockroom', 'log'],
    level: 'warning',
    timestamp: Date.now(),
    message: [message],
    rawMessage: message,
    properties: { dropped },
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
