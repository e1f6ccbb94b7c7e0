import { getLogger } from '@logtape/logtape'
import { hash } from 'bun'
import { type Clock, systemClock } from '../clock.ts'
import { addressKey } from './client-address.ts'
import { detailResponse } from './errors.ts'

const log = getLogger(['stockroom', 'server'])

/** Clients with an allowance of their own: about 50 MiB. */
const CLIENTS_MAX = 100_000

/** Allowances that further clients share. */
const SHARED_ALLOWANCES = 1_024n

/** Allowances to drop whenever one is added, so that ended ones never pile up and no request pays for many. */
const DROPPED_AT_ONCE = 2

/** The log mentions clients at the limit, and too many clients, at most this often. */
const LOG_INTERVAL_MS = 60_000

/** Answered at any rate, because operators and load balancers ask for them. */
const HEALTH_ROUTES: ReadonlySet<string> = new Set(['/healthz', '/health', '/readyz'])

/** A client may send this many requests in this time. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
}

/** A client's requests in its current window. */
export interface Allowance {
  /** The number of requests that will still pass; below 0 after a request that did not. */
  left: number
  readonly endsAt: number
}

/** A request that counts. */
interface Counted {
  /** The client's access key. Without a valid one its address counts, so that guessing is limited, too. */
  readonly key: { readonly name: string } | null
  readonly clientAddress: string
  /** The time of arrival, by the clock. */
  readonly arrivedAt: number
  allowance: Allowance | null
}

export function isUnlimited(route: string): boolean {
  return HEALTH_ROUTES.has(route)
}

/**
 * Limits the requests of each client. A client's window begins with its first request after the previous window has ended.
 * In each window exactly the first `requests` pass. So at most twice as many pass in any period of that length, and a
 * client that never sends more than `requests` in such a period is never refused.
 *
 * If more than `CLIENTS_MAX` clients are active, no one's count is forgotten. Further clients share allowances: they are
 * refused early, but never late.
 */
export class RateLimiter {
  readonly #limit: RateLimit
  readonly #clientsMax: number
  readonly #clock: Clock
  readonly #policy: string
  /** By client, in the order in which they end, because all take the same time. */
  readonly #allowances = new Map<string, Allowance>()
  readonly #shared: Allowance[] = []
  /** Random, so that nobody can choose with whom they share. */
  readonly #seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0
  #sharedUntil = Number.NEGATIVE_INFINITY
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(limit: RateLimit, clock = systemClock, clientsMax = CLIENTS_MAX) {
    this.#limit = limit
    this.#clock = clock
    this.#clientsMax = clientsMax
    this.#policy = `"default";q=${limit.requests};w=${limit.seconds}`
  }

  /** Counts the request. Returns a 429 if it may not pass. */
  take(counted: Counted): Response | null {
    const { key, arrivedAt } = counted
    const client = key === null ? addressKey(counted.clientAddress) : `key ${key.name}`
    const known = this.#allowances.get(client)
    const allowance = known !== undefined && arrivedAt < known.endsAt ? known : this.#begin(client, arrivedAt)
    counted.allowance = allowance
    allowance.left -= 1
    return allowance.left < 0 ? this.#refusal(client, allowance) : null
  }

  /**
   * Adds the fields of draft-ietf-httpapi-ratelimit-headers-11. Setting them takes longer than all the rest, so a response
   * has them once half of the allowance is used (section 6.2 permits that).
   */
  describe(headers: Headers, { left, endsAt }: Allowance): void {
    if (left * 2 > this.#limit.requests) return
    headers.set('RateLimit-Policy', this.#policy)
    headers.set('RateLimit', `"default";r=${Math.max(0, left)};t=${this.#secondsUntil(endsAt)}`)
  }

  #refusal(client: string, { endsAt }: Allowance): Response {
    this.#log('{client} sends more than {requests} requests in {seconds} s; if it is a proxy, set TRUSTED_PROXIES', {
      client,
      ...this.#limit,
    })
    return detailResponse(429, 'Too many requests', { 'Retry-After': String(this.#secondsUntil(endsAt)) })
  }

  #begin(client: string, now: number): Allowance {
    this.#allowances.delete(client)
    this.#dropEnded(now)
    const isFull = this.#allowances.size >= this.#clientsMax
    if (isFull || now < this.#sharedUntil) {
      const place = Number(BigInt(hash(client, this.#seed)) % SHARED_ALLOWANCES)
      const shared = this.#shared[place]
      if (shared !== undefined && now < shared.endsAt) return shared
      if (isFull) return this.#share(place, now)
    }
    const allowance = this.#fresh(now)
    this.#allowances.set(client, allowance)
    return allowance
  }

  #share(place: number, now: number): Allowance {
    this.#log('more than {clients} clients send requests; new ones share rate limits', { clients: this.#clientsMax })
    const allowance = this.#fresh(now)
    this.#shared[place] = allowance
    this.#sharedUntil = allowance.endsAt
    return allowance
  }

  #fresh(now: number): Allowance {
    return { left: this.#limit.requests, endsAt: now + this.#limit.seconds * 1000 }
  }

  #dropEnded(now: number): void {
    let dropped = 0
    for (const [client, { endsAt }] of this.#allowances) {
      if (now < endsAt || dropped === DROPPED_AT_ONCE) return
      this.#allowances.delete(client)
      dropped += 1
    }
  }

  #secondsUntil(endsAt: number): number {
    return Math.max(0, Math.ceil((endsAt - this.#clock.now()) / 1000))
  }

  #log(message: string, properties: Record<string, unknown>): void {
    const now = this.#clock.now()
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return
    this.#loggedAt = now
    log.warning(message, properties)
  }
}
