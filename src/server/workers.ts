import type { MetricsSource, ShownMetrics } from '../metrics/source.ts'
import { type CommandLine, fromEnvironment, type Setting, wholeNumber } from '../program/config.ts'
import { readServerSettings, workers, workerTimeout } from './settings.ts'
import { ALONE, type ServingProcess, serveAsWorker, WORKER_VARIABLE } from './worker.ts'

interface Serving {
  /** Serves in one process. */
  readonly serve: (line: CommandLine, serving: ServingProcess) => Promise<void>
  /** Shows the metrics of several processes to operators, if they have asked for it. */
  readonly showMetrics: (line: CommandLine, source: MetricsSource) => Promise<ShownMetrics | null>
}

/** Serves in this process, or in the number of workers that the command line asks for. */
export async function serveInWorkers(
  line: CommandLine,
  port: Setting<number>,
  { serve, showMetrics }: Serving,
): Promise<void> {
  const count = line.value(workers)
  // Read in any case, so that a wrong one is not found only when there are several workers.
  const timeoutMs = 1_000 * line.value(workerTimeout)
  const worker = fromEnvironment(WORKER_VARIABLE, text => wholeNumber(text, 1, count))
  if (worker !== null) {
    await serveAsWorker(worker, count, serving => serve(line, serving))
  } else if (count === 1) {
    await serve(line, ALONE)
  } else {
    const settings = { ...readServerSettings(line, port), count, timeoutMs }
    await (await import('./supervisor.ts')).supervise(settings, source => showMetrics(line, source))
  }
}
