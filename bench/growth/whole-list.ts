import { readFileSync } from 'node:fs'
import type { Latency } from '../hostile/probe.ts'
import type { RunningServer } from '../server-process.ts'

const MEMORY_EVERY_MS = 10

export interface WholeList {
  readonly megabytes: number
  readonly seconds: number
  readonly processorSeconds: number
  /** By how much the server's memory grew over what it was before. */
  readonly memoryMebibytes: number
  /** The waits of `/healthz` meanwhile. */
  readonly latencies: readonly Latency[]
}

/** Reads a list of everything as fast as it comes. */
export async function readWholeList(server: RunningServer, path: string): Promise<WholeList> {
  const probe = new Worker(new URL('../hostile/probe.ts', import.meta.url))
  probe.postMessage({ address: server.address, processId: server.processId })
  const idle = memoryMebibytes(server)
  let most = idle
  const watching = setInterval(() => {
    most = Math.max(most, memoryMebibytes(server))
  }, MEMORY_EVERY_MS)
  const processor = server.processorSeconds() ?? Number.NaN
  const begun = performance.now()
  const reader = Bun.spawn(['sh', '-c', 'curl --silent --fail "$1" | wc -c', 'sh', server.address + path], {
    stdout: 'pipe',
  })
  const bytes = Number(await reader.stdout.text())
  const seconds = (performance.now() - begun) / 1000
  clearInterval(watching)
  const latencies = await new Promise<Latency[]>(resolve => {
    probe.onmessage = ({ data }) => resolve(data)
    probe.postMessage('over')
  })
  probe.terminate()
  return {
    megabytes: bytes / 1e6,
    seconds,
    processorSeconds: (server.processorSeconds() ?? Number.NaN) - processor,
    memoryMebibytes: most - idle,
    latencies,
  }
}

function memoryMebibytes({ processId }: RunningServer): number {
  const [, kibibytes = ''] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${processId}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}
