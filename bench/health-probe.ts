import { workMilliseconds } from './server-process.ts'

declare const self: Worker

/** The server to ask, and the time between the starts of two requests. */
export interface Probed {
  readonly address: string
  readonly processId: number
  readonly periodMilliseconds: number
}

/**
 * One answer of `/healthz`, in milliseconds: by the clock, and what the server's own thread worked meanwhile. The second
 * is what the first would be on a machine with nothing else to do, or more.
 */
export interface Latency {
  readonly clock: number
  readonly work: number
}

/** Asks `/healthz` again and again, in a thread of its own. Says when the first answer has come; a second message ends it. */
self.onmessage = async ({ data }: MessageEvent<Probed>) => {
  const { address, processId, periodMilliseconds } = data
  const latencies: Latency[] = []
  let isOver = false
  self.onmessage = () => {
    isOver = true
  }
  while (!isOver) {
    const begun = { clock: performance.now(), work: workMilliseconds(processId) }
    const response = await fetch(`${address}/healthz`)
    await response.text()
    const clock = performance.now() - begun.clock
    latencies.push({ clock, work: workMilliseconds(processId) - begun.work })
    if (latencies.length === 1) self.postMessage('begun')
    await Bun.sleep(Math.max(0, periodMilliseconds - clock))
  }
  self.postMessage(latencies)
}
