import { isErrorAtTerminal, printError } from './output.ts'

const BAR_CHARACTERS = 30

/** Shows the progress of long work: a bar at a terminal, elsewhere one line for each finished part. */
export interface Progress {
  /** `count` is shown instead of `done` and `total` if these are, for example, bytes, which nobody counts. */
  report(part: string, done: number, total: number, count?: number): void
  /** Writes a line, above the bar. */
  note(text: string): void
}

/** Writes to standard error, because standard output may be redirected. */
export function progress(): Progress {
  const isAtTerminal = isErrorAtTerminal()
  return {
    report(part, done, total, count) {
      const isFinished = done >= total
      if (isAtTerminal) {
        const filled = isFinished ? BAR_CHARACTERS : Math.round((BAR_CHARACTERS * done) / total)
        const bar = '█'.repeat(filled) + '░'.repeat(BAR_CHARACTERS - filled)
        printError(`\r${part.padEnd(12)} ${bar} ${count ?? `${done}/${total}`}${isFinished ? '\n' : ''}`)
      } else if (isFinished) {
        printError(`${part}: ${count ?? done}\n`)
      }
    },
    note(text) {
      printError(isAtTerminal ? `\r\x1b[K${text}\n` : `${text}\n`)
    },
  }
}
