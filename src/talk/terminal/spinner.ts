const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const SPINNER_FRAME_MS = 80

/** Shows a spinner on an empty line of the terminal. Disposing stops it and clears the line. */
export function startSpinner(output: NodeJS.WritableStream): Disposable {
  let frame = 0
  const draw = () => {
    output.write(`\r${FRAMES[frame % FRAMES.length]}`)
    frame += 1
  }
  draw()
  const timer = setInterval(draw, SPINNER_FRAME_MS)
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer)
      output.write('\r \r')
    },
  }
}
