import { stopSignals, WORKER_STOP_SIGNALS } from '../program/stop-signals.ts'

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
