/** Asks `/healthz` again and again, in a thread of its own, and tells how long each answer took, in milliseconds. */
const PERIOD_MS = 10

declare const self: Worker

self.onmessage = async ({ data: address }: MessageEvent<string>) => {
  const latencies: number[] = []
  let isOver = false
  self.onmessage = () => {
    isOver = true
  }
  while (!isOver) {
    const begun = performance.now()
    const response = await fetch(`${address}/healthz`)
    await response.text()
    const took = performance.now() - begun
    latencies.push(took)
    await Bun.sleep(Math.max(0, PERIOD_MS - took))
  }
  self.postMessage(latencies)
}
