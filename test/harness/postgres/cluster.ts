import { openTcpProxy, type TcpProxy } from '../tcp-proxy.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { PostgresServer } from './server.ts'
import { promote, startAsStandby, startStandby } from './standby.ts'

/** How long the address leads to the old primary when that is back as a standby. */
const MISLED_MS = 300

/** A primary and a synchronous standby, which can change places, and an address that leads to the one that serves. */
export class Cluster implements AsyncDisposable {
  readonly address: TcpProxy
  readonly #opened: AsyncDisposableStack
  #primary: PostgresServer
  #standby: PostgresServer

  private constructor(
    opened: AsyncDisposableStack,
    { address, primary, standby }: { address: TcpProxy; primary: PostgresServer; standby: PostgresServer },
  ) {
    this.#opened = opened
    this.address = address
    this.#primary = primary
    this.#standby = standby
  }

  static async start(): Promise<Cluster> {
    await using opening = new AsyncDisposableStack()
    const primary = opening.use(await PostgresServer.start())
    const standby = opening.use(await startStandby(primary, { name: 'standby' }))
    await primary.set('synchronous_standby_names', 'standby')
    const address = opening.use(await openTcpProxy(primary.port))
    return new Cluster(opening.move(), { address, primary, standby })
  }

  get primary(): PostgresServer {
    return this.#primary
  }

  get standby(): PostgresServer {
    return this.#standby
  }

  /** Creates an empty database, whose address follows the primary. */
  createDatabase(): Promise<TestDatabase> {
    return createDatabase(this.address.url('postgres'))
  }

  /** The standby becomes the primary. The old primary is its standby for a while before the address leads to the new one. */
  async switchOver(): Promise<void> {
    const old = this.#primary
    this.#primary = this.#standby
    this.#standby = old
    await old.stop('fast')
    await promote(this.#primary)
    await startAsStandby(old, this.#primary)
    await Bun.sleep(MISLED_MS)
    this.address.switchTo(this.#primary.port)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync()
  }
}
