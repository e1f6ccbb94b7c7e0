import { childrenOf } from '../harness/process-tree.ts'
import { type Service, startService } from '../harness/service.ts'

/** How long a killed service stays down. */
const GONE_MS = 300

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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service[Symbol.asyncDispose]()
  }
}

function started(databaseUrl: string, flags: readonly string[] = []): Promise<Service> {
  return startService(databaseUrl, { flags: ['--access-log', 'off', ...flags] })
}
