const BAR_CHARACTERS = 30

/** Shows the progress of long work: a bar at a terminal, elsewhere one line for each finished part. */
export interface Progress {
  report(part: string, done: number, total: number): void
}

/** Writes to standard error, because standard output may be redirected. */
export function progress(output: NodeJS.WriteStream = process.stderr): Progress {
  return {
    report(part, done, total) {
      const isFinished = done >= total
      if (output.isTTY) {
        const filled = total === 0 ? BAR_CHARACTERS : Math.round((BAR_CHARACTERS * done) / total)
        const bar = '█'.repeat(filled) + '░'.repeat(BAR_CHARACTERS - filled)
        output.write(`\r${part.padEnd(12)} ${bar} ${done}/${total}${isFinished ? '\n' : ''}`)
      } else if (isFinished) {
        output.write(`${part}: ${done}\n`)
      }
    },
  }
}
