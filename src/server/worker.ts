import type { Family } from '../metrics/family.ts'
import { OperatorError } from '../program/operator-error.ts'
import { print } from '../program/output.ts'

/** The variable with a worker's number. */
export const WORKER_VARIABLE = 'STOCKROOM_WORKER'

/** A process that serves: alone, or as one of several workers behind a supervisor. */
export interface ServingProcess {
  /** Its number, from 1; `null` if it serves alone. */
  readonly worker: number | null
  /** Its share of a limit for all workers together. */
  readonly share: (total: number) => number
  /** Call it when the process listens. The text is printed. */
  readonly listening: (port: number, text: string) => void
  /** Call it when the process can answer requests. The text is printed, if there is one. */
  readonly ready: (text: string | null) => void
  /** Sends the metrics to the supervisor whenever it asks, until the result is disposed of; `null` without a supervisor. */
  readonly showMetrics: ((families: () => readonly Family[]) => Disposable) | null
}

/** A supervisor's messages: they ask for metrics, and whether the worker is alive. */
export const METRICS_QUESTION = 'metrics'
export const ALIVE_QUESTION = 'alive'

/** A worker's message to its supervisor. */
export type WorkerReport =
  | { readonly event: 'listening'; readonly port: number; readonly text: string }
  | { readonly event: 'ready'; readonly text: string | null }
  | { readonly event: 'alive' }
  | { readonly event: 'failed'; readonly reason: string; readonly exitStatus: number }
  | { readonly event: 'metrics'; readonly families: readonly Family[] }

/** A process without a supervisor. */
export const ALONE: ServingProcess = {
  worker: null,
  share: total => total,
  listening: (_, text) => printLine(text),
  ready: printLine,
  showMetrics: null,
}

export function printLine(text: string | null): void {
  if (text !== null) print(`${text}\n`)
}

/** Serves as one of `count` workers. The supervisor prints texts and failures once for all of them. */
export async function serveAsWorker(
  worker: number,
  count: number,
  serve: (serving: ServingProcess) => Promise<void>,
): Promise<void> {
  using _ = answering(ALIVE_QUESTION, () => ({ event: 'alive' }))
  try {
    await serve({
      worker,
      share: total => Math.ceil(total / count),
      listening: (port, text) => report({ event: 'listening', port, text }),
      ready: text => report({ event: 'ready', text }),
      showMetrics: families => answering(METRICS_QUESTION, () => ({ event: 'metrics', families: families() })),
    })
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    report({ event: 'failed', reason: error.message, exitStatus: error.exitStatus })
  }
}

/** Answers a question of the supervisor, whenever it asks, until the result is disposed of. */
function answering(question: string, answer: () => WorkerReport): Disposable {
  const receive = (asked: unknown) => {
    if (asked === question) report(answer())
  }
  process.on('message', receive)
  return { [Symbol.dispose]: () => process.off('message', receive) }
}

function report(report: WorkerReport): void {
  // Without its supervisor, the worker is about to stop: see `parent.ts`.
  if (process.connected) process.send?.(report)
}
