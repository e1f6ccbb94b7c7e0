import { getLogger } from '@logtape/logtape'
import { stopSignals, WORKER_STOP_SIGNALS } from '../program/stop-signals.ts'
import type { BoundedServer } from './bounded-server.ts'

const log = getLogger(['stockroom', 'server'])

/** Time for requests in progress to finish after a stop signal; then they are cut. The whole stop takes less than 5 s. */
const DRAIN_GRACE_MS = 3_500

/** Last resort: exit even if something keeps the process alive. */
const STOP_MAX_MS = 4_800

/**
 * Resolves on the first signal to stop. Later ones are ignored, because a terminal and npm may both send one. SIGHUP never kills
 * a worker: its supervisor stops it, or goes on under `nohup`.
 */
export function stopSignal({ maxMs = STOP_MAX_MS, isWorker = false } = {}): Promise<void> {
  return new Promise(resolve => {
    const stop = () => {
      setTimeout(() => process.exit(0), maxMs).unref()
      resolve()
    }
    for (const signal of isWorker ? WORKER_STOP_SIGNALS : stopSignals()) process.on(signal, stop)
    if (isWorker) process.on('SIGHUP', () => {})
  })
}

/** Refuses new connections, and lets requests in progress finish within the grace. */
export async function drain(server: BoundedServer): Promise<void> {
  log.info('stopping: {pending} requests in progress', { pending: server.pendingRequests })
  const grace = Promise.withResolvers<void>()
  const timer = setTimeout(grace.resolve, DRAIN_GRACE_MS)
  await Promise.race([server.stop(), grace.promise])
  clearTimeout(timer)
  await server.closeConnections()
}
