import { QUICK_HASHES } from '../harness/contract.ts'
import { childrenOf } from '../harness/process-tree.ts'
import { type Service, startService } from '../harness/service.ts'
import { until } from '../harness/until.ts'

/** How long a killed service stays down. */
const GONE_MS = 150

/** A service that can be killed and restarted at another address. */
export class Process implements AsyncDisposable {
  readonly #databaseUrl: string
  #service: Service

  private constructor(databaseUrl: string, service: Service) {
    this.#databaseUrl = databaseUrl
    this.#service = service
  }

  static async start(databaseUrl: string, flags: readonly string[] = []): Promise<Process> {
    return new Process(databaseUrl, await started(databaseUrl, flags))
  }

  get address(): string {
    return this.#service.address
  }

  /** `whileGone` runs when the process is dead. */
  async killAndStartAgain(whileGone: () => void = () => {}): Promise<void> {
    await this.#service.stop('SIGKILL')
    await Bun.sleep(GONE_MS)
    whileGone()
    this.#service = await started(this.#databaseUrl)
  }

  /** The supervisor starts another one. */
  killWorker(): void {
    const [worker] = childrenOf(this.#service.processId)
    if (worker !== undefined) process.kill(worker, 'SIGKILL')
  }

  /** Stops any worker for a time, after which it goes on where it was. */
  async pauseWorker(milliseconds: number): Promise<void> {
    const worker = this.#anyWorker()
    process.kill(worker, 'SIGSTOP')
    await Bun.sleep(milliseconds)
    // If the machine has paused this process for longer, another worker has taken its place.
    if (childrenOf(this.#service.processId).includes(worker)) process.kill(worker, 'SIGCONT')
  }

  /** Stops any worker for good. Resolves when the supervisor has killed it, and another serves in its place. */
  async hangWorker(): Promise<void> {
    const replaced = this.#timesReplaced()
    const worker = this.#anyWorker()
    process.kill(worker, 'SIGSTOP')
    await until(() => this.#timesReplaced() > replaced && !childrenOf(this.#service.processId).includes(worker))
  }

  #anyWorker(): number {
    const workers = childrenOf(this.#service.processId)
    const worker = workers[Math.floor(Math.random() * workers.length)]
    if (worker === undefined) throw new Error('the service has no workers')
    return worker
  }

  #timesReplaced(): number {
    return this.#service.errors().split('serves again').length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]()
  }
}

function started(databaseUrl: string, flags: readonly string[] = []): Promise<Service> {
  return startService(databaseUrl, { flags: ['--access-log', 'off', ...flags], environment: QUICK_HASHES })
}
