import { setTimeout as sleep } from 'node:timers/promises'
import { getLogger, type LogLevel } from '@logtape/logtape'
import { spawn } from 'bun'
import { environmentWith, LAUNCHER_VARIABLE } from '../config.ts'
import { errorMessage } from '../error-message.ts'
import { startLog } from '../log.ts'
import { OperatorError, SettingError } from '../operator-error.ts'
import { requireFreePort, stopSignal } from './listen.ts'
import { print, type Report, WORKER_VARIABLE } from './worker.ts'

const log = getLogger(['stockroom', 'supervisor'])

/** The pause before a worker is restarted. It doubles each time. */
const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 10_000

/** After a worker has run for this long, the pauses start from the shortest again. */
const STABLE_MS = 60_000

/** Time limit for workers to drain. They normally end sooner. */
const KILL_AFTER_MS = 4_900

export interface SupervisorSettings {
  readonly count: number
  readonly host: string
  readonly port: number
  readonly level: LogLevel
}

/**
 * Runs this command line in several worker processes that share the port. After a stop signal, the workers drain. Rejects
 * with the worker's `OperatorError` if the service cannot start.
 */
export async function supervise({ count, host, port, level }: SupervisorSettings): Promise<void> {
  startLog(level)
  // Workers could not detect this, because a shared port can also be shared with another program.
  if (port !== 0) requireFreePort(host, port)
  const stopped = stopSignal(KILL_AFTER_MS + 50)
  await using supervisor = new Supervisor(count, port)
  await Promise.race([supervisor.run(), stopped])
}

interface Ended {
  readonly error: OperatorError
  /** Whether it has ended before it could serve. */
  readonly couldNotServe: boolean
}

class Supervisor implements AsyncDisposable {
  readonly #count: number
  readonly #living = new Set<Bun.Subprocess>()
  readonly #listening = new Set<number>()
  readonly #ready = new Set<number>()
  readonly #stopping = new AbortController()
  readonly #firstListens = Promise.withResolvers<void>()
  /** The text to print when all workers listen; `null` afterwards. */
  #texts: string[] | null = []
  readonly #told = new Set<Report['event']>()
  #port: number

  constructor(count: number, port: number) {
    this.#count = count
    this.#port = port
  }

  /** Keeps all workers running. Rejects when it gives up. */
  async run(): Promise<void> {
    // Only the first worker creates and migrates the database, and picks a free port if requested.
    const kept = [this.#keepRunning(1)]
    await Promise.race([this.#firstListens.promise, ...kept])
    for (let worker = 2; worker <= this.#count; worker += 1) kept.push(this.#keepRunning(worker))
    await Promise.all(kept)
  }

  /** Lets all workers drain. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    const living = [...this.#living]
    for (const child of living) child.kill('SIGTERM')
    const timer = setTimeout(() => {
      for (const child of living) child.kill('SIGKILL')
    }, KILL_AFTER_MS)
    await Promise.all(living.map(child => child.exited))
    clearTimeout(timer)
  }

  async #keepRunning(worker: number): Promise<void> {
    const { signal } = this.#stopping
    let pauseMs = PAUSE_MIN_MS
    while (!signal.aborted) {
      const started = performance.now()
      const { error, couldNotServe } = await this.#runOnce(worker)
      if (signal.aborted) return
      // If no worker can serve, the problem is not one worker's.
      if (couldNotServe && (this.#texts !== null || this.#ready.size === 0)) throw error
      if (performance.now() - started > STABLE_MS) pauseMs = PAUSE_MIN_MS
      log.error('{reason}; restarting it in {pause_ms} ms', { worker, reason: error.message, pause_ms: pauseMs })
      await sleep(pauseMs, undefined, { signal }).catch(() => {})
      pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)
    }
  }

  /** Resolves when the worker has ended. */
  async #runOnce(worker: number): Promise<Ended> {
    let failure: OperatorError | null = null
    const disconnected = Promise.withResolvers<void>()
    const child = startWorker(worker, this.#port, {
      reports: report => {
        if (report.event === 'failed') failure = failureOf(report)
        else this.#note(worker, report)
      },
      disconnects: disconnected.resolve,
    })
    if (child instanceof OperatorError) return { error: child, couldNotServe: true }
    this.#living.add(child)
    await child.exited
    // Its last report may arrive after its end.
    await disconnected.promise
    this.#living.delete(child)
    const wasListening = this.#listening.delete(worker)
    const wasReady = this.#ready.delete(worker)
    const how = child.signalCode === null ? `ended with status ${child.exitCode}` : `was killed by ${child.signalCode}`
    return {
      error: failure ?? new OperatorError(`worker ${worker} ${how}`),
      couldNotServe: !wasReady && (failure !== null || !wasListening),
    }
  }

  #note(worker: number, report: Exclude<Report, { readonly event: 'failed' }>): void {
    if (report.event === 'ready') {
      this.#ready.add(worker)
    } else {
      this.#port = report.port
      this.#listening.add(worker)
      this.#firstListens.resolve()
      if (this.#texts === null) log.info('worker {worker} serves again', { worker })
    }
    this.#tellOnce(report)
    if (this.#texts === null || this.#listening.size < this.#count) return
    for (const text of this.#texts) print(text)
    this.#texts = null
  }

  /** All workers report the same text. It is printed once, when all of them listen. */
  #tellOnce({ event, text }: Exclude<Report, { readonly event: 'failed' }>): void {
    if (this.#told.has(event)) return
    this.#told.add(event)
    if (this.#texts === null) print(text)
    else if (text !== null) this.#texts.push(text)
  }
}

interface WorkerEvents {
  readonly reports: (report: Report) => void
  readonly disconnects: () => void
}

/** Starts this command line as a worker. Returns the error if that fails, for example because the executable was deleted. */
function startWorker(worker: number, port: number, on: WorkerEvents): Bun.Subprocess | OperatorError {
  try {
    return spawn([...program(), ...process.argv.slice(2), '--port', String(port)], {
      env: environmentWith({ [WORKER_VARIABLE]: String(worker), [LAUNCHER_VARIABLE]: String(process.pid) }),
      stdio: ['ignore', 'inherit', 'inherit'],
      serialization: 'json',
      ipc: on.reports,
      onDisconnect: on.disconnects,
    })
  } catch (error) {
    return new OperatorError(`cannot start worker ${worker}: ${errorMessage(error)}`)
  }
}

function failureOf({ reason, exitStatus }: Extract<Report, { readonly event: 'failed' }>): OperatorError {
  return exitStatus === new SettingError('').exitStatus ? new SettingError(reason) : new OperatorError(reason)
}

/** The command of this process without arguments: the executable, or Bun with the source. */
function program(): string[] {
  const isExecutable = Bun.main.startsWith('/$bunfs/')
  return isExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main]
}
