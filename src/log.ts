import { write } from 'node:fs'
import { configureSync, getAnsiColorFormatter, type LogRecord } from '@logtape/logtape'

const STANDARD_ERROR = 2

/** A full pipe that does not block is tried again after this. */
const RETRY_MS = 20

/** Text that standard error has not taken yet; beyond it, lines are dropped and counted rather than kept. */
const BACKLOG_MAX_CHARACTERS = 1_048_576

/** The levels that a log can be set to, from the most lines to the fewest. */
export const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Sends log lines to standard error: one JSON object a line, or coloured text if a person reads them at a terminal. */
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

function jsonLine({ timestamp, level, category, message, properties }: LogRecord): string {
  const time = new Date(timestamp).toISOString()
  const line = { time, level, logger: category.slice(1).join('.'), message: message.join(''), ...properties }
  return `${JSON.stringify(line)}\n`
}

/** Lines of one turn of the event loop leave in one write, and those that come during a write in the next one. */
function standardErrorSink(format: (record: LogRecord) => string): (record: LogRecord) => void {
  let waiting = ''
  let dropped = 0
  let writing = false
  const writeAll = async () => {
    while (waiting !== '') {
      const bytes = Buffer.from(waiting)
      waiting = ''
      await written(bytes)
    }
    writing = false
  }
  return record => {
    if (waiting.length > BACKLOG_MAX_CHARACTERS) {
      dropped += 1
      return
    }
    if (dropped > 0) {
      waiting += `${JSON.stringify({ level: 'warning', message: 'log lines were dropped', dropped })}\n`
      dropped = 0
    }
    waiting += format(record)
    if (writing) return
    writing = true
    setImmediate(writeAll)
  }
}

/** Resolves when the bytes are out, or nobody is left to read them: a log that is lost must not end the server. */
function written(bytes: Buffer): Promise<void> {
  return new Promise(resolve => {
    write(STANDARD_ERROR, bytes, (error, count) => {
      if (error?.code === 'EAGAIN') setTimeout(() => resolve(written(bytes)), RETRY_MS)
      else if (error || count === bytes.length) resolve()
      else resolve(written(bytes.subarray(count)))
    })
  })
}
