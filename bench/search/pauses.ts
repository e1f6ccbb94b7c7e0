import type { Latency } from '../hostile/probe.ts'
import type { RunningServer } from '../server-process.ts'

/** Short, because a pause between two checks is not seen. */
const PERIOD_MS = 1

/** Checks a server's health again and again over a connection of its own, until the longest pause is asked for. */
export function watchPauses({ address, processId }: RunningServer): { longest: () => Promise<Latency> } {
  const probe = new Worker(new URL('../hostile/probe.ts', import.meta.url))
  probe.postMessage({ address, processId, periodMilliseconds: PERIOD_MS })
  return {
    longest: async () => {
      const latencies = await new Promise<Latency[]>(resolve => {
        probe.onmessage = ({ data }) => resolve(data)
        probe.postMessage('over')
      })
      probe.terminate()
      // The first one opens the connection.
      return latencies.slice(1).reduce(
        (longest, { clock, work }) => ({
          clock: Math.max(longest.clock, clock),
          work: Math.max(longest.work, work),
        }),
        { clock: 0, work: 0 },
      )
    },
  }
}
