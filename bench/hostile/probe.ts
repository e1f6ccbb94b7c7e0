import { readFileSync } from 'node:fs'

const PERIOD_MS = 10

declare const self: Worker

interface Server {
  readonly address: string
  readonly processId: number
  /** Between the starts of two requests. */
  readonly periodMilliseconds?: number
  /** Whether to post a message after the first answer. */
  readonly isAnnounced?: boolean
}

/**
 * One answer of `/healthz`, in milliseconds: by the clock, and what the server's own thread worked meanwhile. The second
 * is what the first would be on a machine with nothing else to do, or more.
 */
export interface Latency {
  readonly clock: number
  readonly work: number
}

/** Asks `/healthz` again and again, in a thread of its own, until a second message comes. */
self.onmessage = async ({ data }: MessageEvent<Server>) => {
  const { address, processId, periodMilliseconds = PERIOD_MS, isAnnounced = false } = data
  const latencies: Latency[] = []
  let isOver = false
  self.onmessage = () => {
    isOver = true
  }
  while (!isOver) {
    const begun = { clock: performance.now(), work: workOf(processId) }
    const response = await fetch(`${address}/healthz`)
    await response.text()
    const clock = performance.now() - begun.clock
    latencies.push({ clock, work: workOf(processId) - begun.work })
    if (isAnnounced && latencies.length === 1) self.postMessage('begun')
    await Bun.sleep(Math.max(0, periodMilliseconds - clock))
  }
  self.postMessage(latencies)
}

/** Processor time of a process's first thread, which Linux counts in nanoseconds. */
function workOf(processId: number): number {
  const [nanoseconds] = readFileSync(`/proc/${processId}/task/${processId}/schedstat`, 'utf8').split(' ', 1)
  return Number(nanoseconds) / 1e6
}
