import { childrenOf } from './server-process.ts'

/** The period in which a limited process runs and is stopped. */
const PERIOD_MS = 20

/** Limits a process to a share of the time, to simulate a slower processor. Disposing lifts the limit. */
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

/** Limits each child of a process, or the process itself if it has none. */
export function limitFamily(processId: number, share: number): Disposable {
  const children = childrenOf(processId)
  const limits = new DisposableStack()
  for (const member of children.length > 0 ? children : [processId]) limits.use(limitProcess(member, share))
  return limits
}
