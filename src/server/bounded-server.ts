import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { getLogger } from '@logtape/logtape'
import type { Server } from 'bun'

const log = getLogger(['stockroom', 'server'])

/** The number of connections is looked at this often. */
const LOOK_MS = 100

/** Refused connections are taken again when no more than this part of the bound is open. */
const REOPEN_PART = 0.9

/** Descriptors for all else: the database, requests to other servers, and connections that come between two looks. */
const RESERVED_DESCRIPTORS = 64

/** Of a small limit, no more than this part is reserved. */
const RESERVED_PART = 0.25

/**
 * A server that stops listening while it has too many connections: new ones are refused, idle ones are closed, and those with
 * a request are served. The runtime has no such bound. At the limit of descriptors it would go on trying to accept, which
 * takes all the processor's time, and clients would wait for ever.
 */
export class BoundedServer {
  readonly port: number
  readonly #bind: (port: number) => Server<undefined>
  /** The one that listens, and earlier ones that still have connections. */
  readonly #servers = new Set<Server<undefined>>()
  readonly #descriptorsMax: number
  readonly #connectionsMax: number
  readonly #looking: Timer
  #listening: Server<undefined> | null

  /** `bind` listens at a port, 0 for a free one; throws if it cannot. */
  constructor(bind: (port: number) => Server<undefined>, port: number, connectionsMax: number) {
    this.#bind = bind
    this.#listening = bind(port)
    this.#servers.add(this.#listening)
    this.port = this.#listening.port ?? port
    const ownDescriptors = openDescriptors()
    const limit = descriptorLimit()
    const available = limit - ownDescriptors - Math.min(RESERVED_DESCRIPTORS, limit * RESERVED_PART)
    this.#connectionsMax = Math.max(1, Math.floor(Math.min(connectionsMax, available)))
    this.#descriptorsMax = ownDescriptors + this.#connectionsMax
    this.#looking = setInterval(() => this.#look(), LOOK_MS)
    this.#looking.unref()
  }

  get pendingRequests(): number {
    let pending = 0
    for (const server of this.#servers) pending += server.pendingRequests
    return pending
  }

  /** Stops listening. Resolves when all requests have been answered. */
  async stop(): Promise<void> {
    clearInterval(this.#looking)
    await Promise.all([...this.#servers].map(server => server.stop()))
  }

  /** Cuts what still runs. */
  async cut(): Promise<void> {
    await Promise.all([...this.#servers].map(server => server.stop(true)))
  }

  #look(): void {
    if (this.#listening) {
      if (lowestFreeDescriptor() >= this.#descriptorsMax) this.#close(this.#listening)
    } else if (openDescriptors() <= this.#descriptorsMax * REOPEN_PART) {
      this.#reopen()
    }
  }

  #close(server: Server<undefined>): void {
    this.#listening = null
    const max = this.#connectionsMax
    log.warning('{max} connections are open, as many as may be: new ones are refused until some have closed', {
      max,
    })
    void server.stop().then(() => this.#servers.delete(server))
  }

  #reopen(): void {
    try {
      this.#listening = this.#bind(this.port)
    } catch {
      // Another program may have taken the port for a moment: the next look tries again.
      return
    }
    this.#servers.add(this.#listening)
    log.info('connections are taken again')
  }
}

/** Descriptors are given out lowest first, so at least as many are open. Costs far less than counting them. */
function lowestFreeDescriptor(): number {
  try {
    const descriptor = openSync(devNull, 'r')
    closeSync(descriptor)
    return descriptor
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function openDescriptors(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return lowestFreeDescriptor()
  }
}

/** Linux tells it. Elsewhere the bound on connections counts alone, and running out of descriptors. */
function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
