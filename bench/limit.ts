import { childrenOf } from '../test/harness/process-tree.ts'

/** The period in which a limited process runs and is stopped. */
const PERIOD_MS = 20

/**
 * Limits a process to a share of the time, to simulate a slower processor. Disposing lifts the limit. Processes with different
 * places take turns, instead of competing for the same moments.
 */
export function limitProcess(processId: number, share: number, place = 0): Disposable {
  let pausing: ReturnType<typeof setTimeout> | undefined
  let turning: ReturnType<typeof setInterval> | undefined
  const turn = () => {
    process.kill(processId, 'SIGCONT')
    pausing = setTimeout(() => process.kill(processId, 'SIGSTOP'), PERIOD_MS * share)
  }
  const waiting = setTimeout(
    () => {
      turning = setInterval(turn, PERIOD_MS)
      turn()
    },
    (place * PERIOD_MS * share) % PERIOD_MS,
  )
  return {
    [Symbol.dispose]: () => {
      clearTimeout(waiting)
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
  const members = children.length > 0 ? children : [processId]
  for (const [place, member] of members.entries()) limits.use(limitProcess(member, share, place))
  return limits
}
