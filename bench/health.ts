import { type Durations, durationsOf } from './durations.ts'
import type { Latency, Probed } from './health-probe.ts'
import type { RunningServer } from './server-process.ts'

/** For the longest pause, because one between two checks is not seen. */
export const PAUSES_EVERY_MS = 1

/** How long health checks took: by the clock, and the work of the server's thread. */
export type Waits = Readonly<Record<keyof Latency, Durations>>

/** Checks a server's health again and again over a connection of its own, until the waits are asked for. */
export async function watchHealth(
  { address, processId }: RunningServer,
  periodMilliseconds = 10,
): Promise<{ readonly waits: () => Promise<Waits> }> {
  const probe = new Worker(new URL('health-probe.ts', import.meta.url))
  const message = <Data>() =>
    new Promise<Data>((resolve, reject) => {
      probe.onmessage = ({ data }) => resolve(data)
      probe.onerror = ({ message }) => reject(new Error(`the health check failed: ${message}`))
    })
  const begun = message<'begun'>()
  const probed: Probed = { address, processId, periodMilliseconds }
  probe.postMessage(probed)
  await begun
  return {
    waits: async () => {
      const over = message<Latency[]>()
      probe.postMessage('over')
      // The first one opened the connection.
      const latencies = (await over).slice(1)
      probe.terminate()
      return {
        clock: durationsOf(latencies.map(({ clock }) => clock)),
        work: durationsOf(latencies.map(({ work }) => work)),
      }
    },
  }
}
