import { getLogger } from '@logtape/logtape'
import { type Clock, systemClock } from '../clock.ts'
import { atMostEvery } from '../limits/at-most-every.ts'
import { type Allowance, Rate } from '../limits/rate.ts'
import { addressKey } from './client-address.ts'
import { detailResponse } from './errors.ts'

const log = getLogger(['stockroom', 'server'])

/** The log mentions clients at the limit, and too many clients, at most this often. */
const LOG_INTERVAL_MS = 60_000

/** Operators and load balancers ask for them, however often, and without a session. */
const HEALTH_ROUTES: ReadonlySet<string> = new Set(['/healthz', '/health', '/readyz'])

/** A client may send this many requests in this time. */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
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

export function isHealthRoute(route: string): boolean {
  return HEALTH_ROUTES.has(route)
}

/** The key for limits per client. */
export function clientKey({ key, clientAddress }: Pick<Counted, 'key' | 'clientAddress'>): string {
  return key === null ? addressKey(clientAddress) : `key ${key.name}`
}

/** Limits the requests of each client, as a `Rate`. */
export class RateLimiter {
  readonly #limit: RateLimit
  readonly #clock: Clock
  readonly #policy: string
  readonly #rate: Rate
  readonly #mayLog = atMostEvery(LOG_INTERVAL_MS)

  constructor(limit: RateLimit, clock = systemClock, clientsMax?: number) {
    const { requests, seconds } = limit
    this.#limit = limit
    this.#clock = clock
    this.#policy = `"default";q=${requests};w=${seconds}`
    this.#rate = new Rate({
      uses: requests,
      windowMs: seconds * 1_000,
      ...(clientsMax !== undefined && { clientsMax }),
      crowded: clients =>
        this.#log('more than {clients} clients send requests; new ones share rate limits', { clients }),
    })
  }

  /** Counts the request. Returns a 429 if it may not pass. */
  take(counted: Counted): Response | null {
    const client = clientKey(counted)
    const allowance = this.#rate.use(client, counted.arrivedAt)
    counted.allowance = allowance
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

  #secondsUntil(endsAt: number): number {
    return Math.max(0, Math.ceil((endsAt - this.#clock.now()) / 1000))
  }

  #log(message: string, properties: Record<string, unknown>): void {
    if (this.#mayLog()) log.warning(message, properties)
  }
}
