import { type Waits, watchHealth } from '../health.ts'
import { memoryKibibytes, type RunningServer } from '../server-process.ts'

const MEMORY_EVERY_MS = 10

export interface WholeList {
  readonly megabytes: number
  readonly seconds: number
  readonly processorSeconds: number
  /** By how much the server's memory grew over what it was before. */
  readonly memoryMebibytes: number
  /** Of `/healthz` meanwhile. */
  readonly waits: Waits
}

/** Reads a list of everything as fast as it comes. */
export async function readWholeList(server: RunningServer, path: string): Promise<WholeList> {
  const health = await watchHealth(server)
  const idle = memoryKibibytes(server)
  let most = idle
  const watching = setInterval(() => {
    most = Math.max(most, memoryKibibytes(server))
  }, MEMORY_EVERY_MS)
  const processor = server.processorSeconds() ?? Number.NaN
  const begun = performance.now()
  const reader = Bun.spawn(['sh', '-c', 'curl --silent --fail "$1" | wc -c', 'sh', server.address + path], {
    stdout: 'pipe',
  })
  const bytes = Number(await reader.stdout.text())
  const seconds = (performance.now() - begun) / 1000
  clearInterval(watching)
  return {
    megabytes: bytes / 1e6,
    seconds,
    processorSeconds: (server.processorSeconds() ?? Number.NaN) - processor,
    memoryMebibytes: (most - idle) / 1024,
    waits: await health.waits(),
  }
}
