import { type Family, histogram } from './family.ts'
import { Histogram } from './histogram.ts'

/** A timer is set this often, to see how late it is. */
const INTERVAL_MS = 100

/** In seconds. The runtime's timers have a resolution of a millisecond. */
export const LAG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** Begins to measure how late the event loop runs timers that are due. The result tells it. */
export function measureEventLoop(): () => Family {
  const seconds = new Histogram(LAG_SECONDS)
  const wait = () => {
    const due = performance.now() + INTERVAL_MS
    const timer = setTimeout(() => {
      seconds.observe(Math.max(0, performance.now() - due) / 1_000)
      wait()
    }, INTERVAL_MS)
    timer.unref()
  }
  wait()
  const help = 'How late the event loop was with a timer: while it is late, no request is answered.'
  return () => histogram('stockroom_event_loop_lag_seconds', help, seconds)
}
