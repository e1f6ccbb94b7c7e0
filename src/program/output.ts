import { fstatSync, writeSync } from 'node:fs'

const STANDARD_OUTPUT = 1
const STANDARD_ERROR = 2

/** The pause before retrying to write into a full pipe that does not block. */
const RETRY_MS = 5

/** Writes a short text to standard output. `process.stdout` would do, but loading it takes 5 ms of each start. */
export function print(text: string): void {
  writeFully(STANDARD_OUTPUT, text)
}

/** Writes a short text to standard error. */
export function printError(text: string): void {
  writeFully(STANDARD_ERROR, text)
}

/** Whether people see at once what is written to standard error. */
export function isErrorAtTerminal(): boolean {
  // Only devices can be terminals, so most processes need not load the streams.
  return fstatSync(STANDARD_ERROR).isCharacterDevice() && process.stderr.isTTY
}

/** Standard output as a stream, for a command that writes much. The reader may close it early, as `head` does. */
export function outputStream(): NodeJS.WriteStream {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  return process.stdout
}

function writeFully(descriptor: number, text: string): void {
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes))
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : ''
      // The reader has closed it, which does not end the command.
      if (code === 'EPIPE') return
      if (code !== 'EAGAIN') throw error
      Bun.sleepSync(RETRY_MS)
    }
  }
}
