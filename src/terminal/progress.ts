const BAR_CHARACTERS = 30

/** Shows how far a long work is: a bar at a terminal, one plain line for each finished part elsewhere. */
export interface Progress {
  at(part: string, done: number, total: number): void
}

/** On standard error, since standard output may go into a file or another program. */
export function progress(output: NodeJS.WriteStream = process.stderr): Progress {
  return {
    at(part, done, total) {
      const whole = done >= total
      if (output.isTTY) {
        const filled = total === 0 ? BAR_CHARACTERS : Math.round((BAR_CHARACTERS * done) / total)
        const bar = '█'.repeat(filled) + '░'.repeat(BAR_CHARACTERS - filled)
        output.write(`\r${part.padEnd(12)} ${bar} ${done}/${total}${whole ? '\n' : ''}`)
      } else if (whole) {
        output.write(`${part}: ${done}\n`)
      }
    },
  }
}
