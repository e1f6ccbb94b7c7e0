const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const SPINNER_FRAME_MS = 80

/** Shows a spinner on an empty line of the terminal. Call the result to stop it and clear the line. */
export function startSpinner(output: NodeJS.WritableStream): () => void {
  let frame = 0
  const draw = () => {
    output.write(`\r${FRAMES[frame % FRAMES.length]}`)
    frame += 1
  }
  draw()
  const timer = setInterval(draw, SPINNER_FRAME_MS)
  let isSpinning = true
  return () => {
    if (!isSpinning) return
    isSpinning = false
    clearInterval(timer)
    output.write('\r \r')
  }
}
