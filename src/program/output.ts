import { fstatSync, writeSync } from 'node:fs'
import { errorCode, errorMessage } from './error-message.ts'
import { OperatorError } from './operator-error.ts'

const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2

/** The pause before retrying to write into a full pipe that does not block. */
const RETRY_MS = 5

/**
 * Says on standard output what was done, in a short text. If that cannot be written, standard error has it, because what was done
 * stays done. `process.stdout` would do, but loading it takes 5 ms of each start.
 */
export function print(text: string): void {
  const error = writeFully(STANDARD_OUTPUT, text)
  if (error && !isClosed(error)) printError(`${text}stockroom: ${notWritten(error).message}\n`)
}

/**
 * Writes a short text that was asked for to standard output. Throws an `OperatorError` if it cannot be written. A reader that has
 * closed it does not want the text, unless it must be read.
 */
export function printResult(text: string, { mustBeRead = false } = {}): void {
  const error = writeFully(STANDARD_OUTPUT, text)
  if (error && (mustBeRead || !isClosed(error))) throw notWritten(error)
}

/** Writes a short text to standard error. If that cannot be written, nobody can be told. */
export function printError(text: string): void {
  writeFully(STANDARD_ERROR, text)
}

/** Whether people see at once what is written to standard error. */
export function isErrorAtTerminal(): boolean {
  // Only devices can be terminals, so most processes need not load the streams.
  return fstatSync(STANDARD_ERROR).isCharacterDevice() && process.stderr.isTTY
}

/** Writes texts to standard output until its reader closes it, as `head` does. Rejects with an `OperatorError` if they cannot be written. */
export async function printAll(texts: AsyncIterable<string>): Promise<void> {
  const { stdout } = process
  // Each write reports the error as well.
  stdout.on('error', () => {})
  for await (const text of texts) {
    const error = await new Promise<Error | null | undefined>(told => stdout.write(text, told))
    if (error && isClosed(error)) return
    if (error) throw notWritten(error)
  }
}

function writeFully(descriptor: number, text: string): unknown {
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes))
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') return error
      Bun.sleepSync(RETRY_MS)
    }
  }
  return null
}

function isClosed(error: unknown): boolean {
  return errorCode(error) === 'EPIPE'
}

function notWritten(error: unknown): OperatorError {
  return new OperatorError(`cannot write to standard output: ${errorMessage(error)}`)
}
