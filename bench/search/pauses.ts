import type { Latency } from '../hostile/probe.ts'
import type { RunningServer } from '../server-process.ts'

/** Short, because a pause between two checks is not seen. */
const PERIOD_MS = 1

/** Checks a server's health again and again over a connection of its own, until the longest pause is asked for. */
export async function watchPauses({
  address,
  processId,
}: RunningServer): Promise<{ readonly longest: () => Promise<Latency> }> {
  const probe = new Worker(new URL('../hostile/probe.ts', import.meta.url))
  const message = <Data>() =>
    new Promise<Data>((resolve, reject) => {
      probe.onmessage = ({ data }) => resolve(data)
      probe.onerror = ({ message }) => reject(new Error(`the health check failed: ${message}`))
    })
  const begun = message<'begun'>()
  probe.postMessage({ address, processId, periodMilliseconds: PERIOD_MS, isAnnounced: true })
  await begun
  return {
    longest: async () => {
      const over = message<Latency[]>()
      probe.postMessage('over')
      const latencies = await over
      probe.terminate()
      // The first one opened the connection.
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
