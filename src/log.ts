import { write } from 'node:fs'
import { configureSync, getAnsiColorFormatter, type LogLevel, type LogRecord } from '@logtape/logtape'

const STANDARD_ERROR = 2

/** The pause before retrying to write into a full pipe that does not block. */
const RETRY_MS = 20

/** Limit on text that waits for standard error; beyond it, lines are dropped and counted. */
const BACKLOG_MAX_CHARACTERS = 1_048_576

/** Sends logs to standard error: one JSON object per line, or colored text at a terminal. */
export function startLog(level: LogLevel): void {
  const format = process.stderr.isTTY ? getAnsiColorFormatter({ timestamp: 'time', value: String }) : jsonLine
  configureSync({
    reset: true,
    sinks: { standardError: standardErrorSink(format) },
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
function jsonLine({ timestamp, level, category, message, properties }: LogRecord): string {
  const time = new Date(timestamp).toISOString()
  const line = { time, level, logger: category.slice(1).join('.'), message: message.join(''), ...properties }
  return `${JSON.stringify(line)}\n`
}

/** Writes all lines of one event-loop turn together, and lines that arrive during a write in the next write. */
function standardErrorSink(format: (record: LogRecord) => string): (record: LogRecord) => void {
  let queued = ''
  let dropped = 0
  let writing = false
  const drain = async () => {
    while (queued !== '') {
      const bytes = Buffer.from(queued)
      queued = ''
      await writeFully(bytes)
    }
    writing = false
  }
  return record => {
    if (queued.length > BACKLOG_MAX_CHARACTERS) {
      dropped += 1
      return
    }
    if (dropped > 0) {
      queued += `${JSON.stringify({ level: 'warning', message: 'log lines were dropped', dropped })}\n`
      dropped = 0
    }
    queued += format(record)
    if (writing) return
    writing = true
    setImmediate(drain)
  }
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
