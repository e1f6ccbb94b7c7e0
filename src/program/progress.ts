const BAR_CHARACTERS = 30

/** Shows the progress of long work: a bar at a terminal, elsewhere one line for each finished part. */
export interface Progress {
  /** `count` is shown instead of `done` and `total` if these are, for example, bytes, which nobody counts. */
  report(part: string, done: number, total: number, count?: number): void
  /** Writes a line, above the bar. */
  note(text: string): void
}

/** Writes to standard error, because standard output may be redirected. */
export function progress(output: NodeJS.WriteStream = process.stderr): Progress {
  return {
    report(part, done, total, count) {
      const isFinished = done >= total
      if (output.isTTY) {
        const filled = isFinished ? BAR_CHARACTERS : Math.round((BAR_CHARACTERS * done) / total)
        const bar = '█'.repeat(filled) + '░'.repeat(BAR_CHARACTERS - filled)
        output.write(`\r${part.padEnd(12)} ${bar} ${count ?? `${done}/${total}`}${isFinished ? '\n' : ''}`)
      } else if (isFinished) {
        output.write(`${part}: ${count ?? done}\n`)
      }
    },
    note(text) {
      output.write(output.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`)
    },
  }
}
