import { getLogger } from '@logtape/logtape'
import { spawn } from 'bun'
import { pause, systemClock } from '../clock.ts'
import type { MetricsSource, ShownMetrics } from '../metrics/source.ts'
import { environmentWith, LAUNCHER_VARIABLE } from '../program/config.ts'
import { errorMessage } from '../program/error-message.ts'
import { startLog } from '../program/log.ts'
import { OperatorError, SETTING_EXIT_STATUS, SettingError } from '../program/operator-error.ts'
import { ownCommand } from '../program/own-command.ts'
import { HttpError } from './errors.ts'
import { checkHealth } from './health-check.ts'
import { Heartbeat } from './heartbeat.ts'
import { claimPort, requireFreePort } from './port.ts'
import type { ServerSettings } from './settings.ts'
import { stopSignal } from './stop.ts'
import { ALIVE_QUESTION, METRICS_QUESTION, printLine, WORKER_VARIABLE, type WorkerReport } from './worker.ts'
import { WorkerMetrics } from './worker-metrics.ts'

const log = getLogger(['stockroom', 'supervisor'])

/** The pause before a worker is restarted. It doubles each time. */
const PAUSE_MIN_MS = 100
const PAUSE_MAX_MS = 10_000

/** After a worker has run for this long, the pauses start from the shortest again. */
const STABLE_MS = 60_000

/**
 * Ctrl-C at a terminal and service managers send the signal to all processes at once, so a worker may end by it before this
 * process has got its own. After such an end, it waits this long for it.
 */
const OWN_SIGNAL_MS = 2_000

/** Time limit for workers to drain. They normally end sooner. */
const KILL_AFTER_MS = 4_900

interface SupervisorSettings extends Pick<ServerSettings, 'host' | 'port' | 'logLevel'> {
  readonly count: number
  /** A worker that serves and does not answer for so long is replaced. */
  readonly timeoutMs: number
}

/**
 * Runs this command line in several worker processes that share the port. After a stop signal, the workers drain. Rejects
 * with the worker's `OperatorError` if the service cannot start.
 */
export async function supervise(
  settings: SupervisorSettings,
  showMetrics: (source: MetricsSource) => Promise<ShownMetrics | null>,
): Promise<void> {
  const { host, port, logLevel } = settings
  startLog(logLevel)
  using starting = new DisposableStack()
  if (port !== 0) {
    starting.use(claimPort(host, port))
    // Workers could not detect this, because a shared port can also be shared with another program.
    requireFreePort(host, port)
  }
  const stopped = stopSignal({ maxMs: KILL_AFTER_MS + 50 })
  const supervisor = new Supervisor(settings)
  {
    await using _ = supervisor
    await using shown = await showMetrics(supervisor)
    const allListen = () => {
      starting.dispose()
      shown?.announce()
    }
    await Promise.race([supervisor.run(allListen), stopped])
  }
  if (supervisor.haveAllFailed) throw new OperatorError('no worker has ended in order; the log says why')
}

/** One run of a worker. */
interface Running {
  readonly child: Bun.Subprocess
  /** From the time when it listens. Before, it may be at work without a pause, for example migrating a large database. */
  heartbeat: Heartbeat | null
  isReady: boolean
  failure: OperatorError | null
}

interface Ended {
  readonly error: OperatorError
  /** Whether it has ended before it could serve. */
  readonly couldNotServe: boolean
  /** Whether a stop signal seems to have ended it. */
  readonly wasStopped: boolean
}

class Supervisor implements AsyncDisposable, MetricsSource {
  readonly #settings: SupervisorSettings
  readonly #metrics = new WorkerMetrics()
  readonly #running = new Map<number, Running>()
  readonly #stopping = new AbortController()
  readonly #firstListens = Promise.withResolvers<void>()
  /** The text to print when all workers listen; `null` afterwards. */
  #texts: string[] | null = []
  #allListen = () => {}
  readonly #told = new Set<WorkerReport['event']>()
  #port: number
  /** Whether every worker that was to stop crashed, was killed or reported a failure. */
  haveAllFailed = false

  constructor(settings: SupervisorSettings) {
    this.#settings = settings
    this.#port = settings.port
  }

  get port(): number {
    return this.#port
  }

  readonly families = () => this.#metrics.families()

  /** Rejects unless one of the workers is ready. */
  readonly probe = async (): Promise<void> => {
    await checkHealth({ host: this.#settings.host, port: this.#port, path: '/readyz' }).catch(() => {
      throw new HttpError(503, 'The workers cannot answer requests')
    })
  }

  /** Keeps all workers running. Rejects when it gives up. */
  async run(allListen: () => void): Promise<void> {
    this.#allListen = allListen
    // Only the first worker creates and migrates the database, and picks a free port if requested.
    const kept = [this.#keepRunning(1)]
    await Promise.race([this.#firstListens.promise, ...kept])
    for (let worker = 2; worker <= this.#settings.count; worker += 1) kept.push(this.#keepRunning(worker))
    await Promise.all(kept)
  }

  /** Lets all workers drain. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    const children = [...this.#running.values()].map(({ child }) => child)
    for (const child of children) child.kill('SIGTERM')
    let hasKilled = false
    const timer = setTimeout(() => {
      hasKilled = true
      for (const child of children) child.kill('SIGKILL')
    }, KILL_AFTER_MS)
    await Promise.all(children.map(child => child.exited))
    clearTimeout(timer)
    this.haveAllFailed = !hasKilled && children.length > 0 && !children.some(wasStopped)
  }

  async #keepRunning(worker: number): Promise<void> {
    const { signal } = this.#stopping
    let pauseMs = PAUSE_MIN_MS
    while (!signal.aborted) {
      const started = performance.now()
      const { error, couldNotServe, wasStopped } = await this.#runOnce(worker)
      if (wasStopped) await pause(systemClock, OWN_SIGNAL_MS, signal)
      if (signal.aborted) return
      // If no worker can serve, the problem is not one worker's.
      if (couldNotServe && (this.#texts !== null || !this.#running.values().some(({ isReady }) => isReady))) throw error
      if (performance.now() - started > STABLE_MS) pauseMs = PAUSE_MIN_MS
      log.error('{reason}; restarting it in {pause_ms} ms', { worker, reason: error.message, pause_ms: pauseMs })
      await pause(systemClock, pauseMs, signal)
      pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)
    }
  }

  /** Resolves when the worker has ended. */
  async #runOnce(worker: number): Promise<Ended> {
    const disconnected = Promise.withResolvers<void>()
    const receive = (report: WorkerReport) => this.#receive(worker, report)
    // The numbers of the start: by now, the program may be allowed fewer cores, which `auto` would count.
    const flags = ['--workers', String(this.#settings.count), '--port', String(this.#port)]
    const child = startWorker(worker, flags, receive, disconnected.resolve)
    if (child instanceof OperatorError) return { error: child, couldNotServe: true, wasStopped: false }
    const running: Running = { child, heartbeat: null, isReady: false, failure: null }
    this.#running.set(worker, running)
    await child.exited
    // Its last report may arrive after its end.
    await disconnected.promise
    running.heartbeat?.[Symbol.dispose]()
    this.#running.delete(worker)
    this.#metrics.ended(worker)
    const { heartbeat, isReady, failure } = running
    const how = child.signalCode === null ? `ended with status ${child.exitCode}` : `was killed by ${child.signalCode}`
    return {
      error: failure ?? new OperatorError(`worker ${worker} ${how}`),
      couldNotServe: !isReady && (failure !== null || heartbeat === null),
      wasStopped: failure === null && wasStopped(child),
    }
  }

  #receive(worker: number, report: WorkerReport): void {
    const running = this.#running.get(worker)
    if (!running) return
    if (report.event === 'failed') running.failure = failureOf(report)
    else if (report.event === 'metrics') this.#metrics.answered(worker, report.families)
    else if (report.event === 'alive') running.heartbeat?.answered()
    else if (report.event === 'ready') running.isReady = true
    else this.#hasBegunToListen(worker, running, report.port)
    if ('text' in report) this.#tell(report)
  }

  #hasBegunToListen(worker: number, running: Running, port: number): void {
    this.#port = port
    running.heartbeat = this.#heartbeatOf(worker, running)
    this.#metrics.began(worker, () => ask(running.child, METRICS_QUESTION), running.heartbeat)
    this.#firstListens.resolve()
    if (this.#texts === null) log.info('worker {worker} serves again', { worker })
  }

  /** Kills the worker when it has not answered for too long. */
  #heartbeatOf(worker: number, running: Running): Heartbeat {
    return new Heartbeat(this.#settings.timeoutMs, {
      ask: () => ask(running.child, ALIVE_QUESTION),
      misses: silentMs =>
        log.warning('worker {worker} has not answered for {silent_ms} ms', { worker, silent_ms: silentMs }),
      returns: () => log.info('worker {worker} answers again', { worker }),
      dies: () => {
        this.#metrics.killed()
        const seconds = this.#settings.timeoutMs / 1_000
        running.failure = new OperatorError(`worker ${worker} did not answer for ${seconds} s and was killed`)
        running.child.kill('SIGKILL')
      },
    })
  }

  /** All workers report the same text. It is printed once, when all of them listen. */
  #tell({ event, text }: Extract<WorkerReport, { readonly text: string | null }>): void {
    if (!this.#told.has(event)) {
      this.#told.add(event)
      if (this.#texts === null) printLine(text)
      else if (text !== null) this.#texts.push(text)
    }
    const listening = [...this.#running.values()].filter(({ heartbeat }) => heartbeat !== null)
    if (this.#texts === null || listening.length < this.#settings.count) return
    for (const waiting of this.#texts) printLine(waiting)
    this.#texts = null
    this.#allListen()
  }
}

/**
 * Starts this command line with further flags as a worker. Returns the error if that fails, for example because the executable
 * was deleted.
 */
function startWorker(
  worker: number,
  flags: readonly string[],
  ipc: (report: WorkerReport) => void,
  onDisconnect: () => void,
): Bun.Subprocess | OperatorError {
  try {
    // Flags that follow a `--` would be none, and no command that serves takes anything else.
    const given = process.argv.slice(2).filter(word => word !== '--')
    return spawn([...ownCommand(), ...given, ...flags], {
      env: environmentWith({ [WORKER_VARIABLE]: String(worker), [LAUNCHER_VARIABLE]: String(process.pid) }),
      stdio: ['ignore', 'inherit', 'inherit'],
      serialization: 'json',
      ipc,
      onDisconnect,
    })
  } catch (error) {
    return new OperatorError(`cannot start worker ${worker}: ${errorMessage(error)}`)
  }
}

function ask(child: Bun.Subprocess, question: typeof METRICS_QUESTION | typeof ALIVE_QUESTION): void {
  try {
    child.send(question)
  } catch {
    // It has just ended.
  }
}

/** The status is 0 if the worker had begun to wait for the signal. */
function wasStopped({ exitCode, signalCode }: Bun.Subprocess): boolean {
  return exitCode === 0 || signalCode === 'SIGTERM' || signalCode === 'SIGINT' || signalCode === 'SIGHUP'
}

function failureOf({ reason, exitStatus }: Extract<WorkerReport, { readonly event: 'failed' }>): OperatorError {
  return exitStatus === SETTING_EXIT_STATUS ? new SettingError(reason) : new OperatorError(reason)
}
