/** So often a limited process is let run and stopped again. */
const PERIOD_MS = 20

/** Lets a process run for a part of the time only, as a machine with a smaller processor would. Disposing ends that. */
export function limitProcess(processId: number, share: number): Disposable {
  let pausing: ReturnType<typeof setTimeout> | undefined
  const turn = () => {
    process.kill(processId, 'SIGCONT')
    pausing = setTimeout(() => process.kill(processId, 'SIGSTOP'), PERIOD_MS * share)
  }
  const turning = setInterval(turn, PERIOD_MS)
  turn()
  return {
    [Symbol.dispose]: () => {
      clearInterval(turning)
      clearTimeout(pausing)
      process.kill(processId, 'SIGCONT')
    },
  }
}
