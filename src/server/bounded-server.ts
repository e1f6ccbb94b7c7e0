import { getLogger } from '@logtape/logtape'
import type { Server } from 'bun'
import { systemClock, within } from '../clock.ts'
import { DESCRIPTORS_MAX, lowestFreeDescriptor, openDescriptors } from '../metrics/descriptors.ts'

const log = getLogger(['stockroom', 'server'])

/** Time for requests in progress to finish after a stop signal; then they are cut. The whole stop takes less than 5 s. */
const DRAIN_GRACE_MS = 3_500

/** The number of connections is checked this often. */
const CHECK_INTERVAL_MS = 100

/** New connections are accepted again when at most this fraction of the limit is open. */
const REOPEN_FRACTION = 0.9

/** Descriptors for everything else: the database, outgoing requests, and connections that arrive between two checks. */
const RESERVED_DESCRIPTORS = 64

/** If the descriptor limit is small, at most this fraction of it is reserved. */
const RESERVED_FRACTION = 0.25

/**
 * A server that stops listening while it has too many connections: it refuses new ones, closes idle ones, and goes on
 * serving the rest. The runtime has no such limit. Out of descriptors, it would retry `accept` forever at full processor
 * load, and clients would hang.
 */
export class BoundedServer implements AsyncDisposable {
  readonly port: number
  /** As many as were asked for, or as the limit on open files allows. */
  readonly connectionsMax: number
  readonly #bind: (port: number) => Server<undefined>
  /** The server that listens, and earlier ones that still have connections. */
  readonly #servers = new Set<Server<undefined>>()
  readonly #descriptorsMax: number
  readonly #checking: Timer
  #listening: Server<undefined> | null

  /** `bind` listens on a port, 0 for a free one, and throws if it cannot. */
  constructor(bind: (port: number) => Server<undefined>, port: number, connectionsMax: number) {
    this.#bind = bind
    this.#listening = bind(port)
    this.#servers.add(this.#listening)
    this.port = this.#listening.port ?? port
    const ownDescriptors = openDescriptors()
    const reserved = Math.min(RESERVED_DESCRIPTORS, DESCRIPTORS_MAX * RESERVED_FRACTION)
    const available = DESCRIPTORS_MAX - ownDescriptors - reserved
    this.connectionsMax = Math.max(1, Math.floor(Math.min(connectionsMax, available)))
    this.#descriptorsMax = ownDescriptors + this.connectionsMax
    this.#checking = setInterval(() => this.#check(), CHECK_INTERVAL_MS)
    this.#checking.unref()
  }

  /** The requests that are being answered at this moment. */
  requestsInProgress(): number {
    let pending = 0
    for (const server of this.#servers) pending += server.pendingRequests
    return pending
  }

  /** Drains: refuses new connections, and lets requests in progress finish within the grace. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#checking)
    log.info('stopping: {pending} requests in progress', { pending: this.requestsInProgress() })
    await within(systemClock, DRAIN_GRACE_MS, this.#stopAll(false))
    await this.#stopAll(true)
  }

  /** Stops listening. Resolves when all requests have been answered, or when all connections are closed. */
  async #stopAll(closesConnections: boolean): Promise<void> {
    await Promise.all([...this.#servers].map(server => server.stop(closesConnections)))
  }

  #check(): void {
    if (this.#listening) {
      if (lowestFreeDescriptor() >= this.#descriptorsMax) this.#stopListening(this.#listening)
    } else if (openDescriptors() <= this.#descriptorsMax * REOPEN_FRACTION) {
      this.#listenAgain()
    }
  }

  #stopListening(server: Server<undefined>): void {
    this.#listening = null
    const max = this.connectionsMax
    log.warning('{max} connections are open, the maximum; new ones are refused until some close', { max })
    void server.stop().then(() => this.#servers.delete(server))
  }

  #listenAgain(): void {
    try {
      this.#listening = this.#bind(this.port)
    } catch {
      // Another program may hold the port for a moment; the next check retries.
      return
    }
    this.#servers.add(this.#listening)
    log.info('new connections are accepted again')
  }
}
