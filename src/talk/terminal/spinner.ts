const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const FRAME_MS = 80

/** Turns at the beginning of an empty line of the terminal until it is stopped, which leaves the line empty. */
export function startSpinner(output: NodeJS.WritableStream): () => void {
  let frame = 0
  const draw = () => {
    output.write(`\r${FRAMES[frame % FRAMES.length]}`)
    frame += 1
  }
  draw()
  const timer = setInterval(draw, FRAME_MS)
  let turns = true
  return () => {
    if (!turns) return
    turns = false
    clearInterval(timer)
    output.write('\r \r')
  }
}
