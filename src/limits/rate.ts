import { hash } from 'bun'

/** Clients with an allowance of their own: about 50 MiB. */
const CLIENTS_MAX = 100_000

/** Allowances that further clients share. */
const SHARED_ALLOWANCES = 1_024n

/** Allowances to drop whenever one is added, so that ended ones never pile up and no use pays for many. */
const DROPPED_AT_ONCE = 2

/** A client's uses in its current window. */
export interface Allowance {
  /** The number of uses that are still permitted; below 0 after one that was not. */
  left: number
  /** In milliseconds, by the clock of the uses. */
  readonly endsAt: number
}

interface RateOptions {
  /** Uses of one client in a window. */
  readonly uses: number
  readonly windowMs: number
  readonly clientsMax?: number
  /** Called when a client gets a shared allowance, because there are more than `clientsMax`. */
  readonly crowded?: (clientsMax: number) => void
}

/**
 * Limits how often each client may use something: so many uses in a window of time. A client's window begins with its first
 * use after the previous window has ended. In each window exactly the first uses are permitted. So at most twice as many are
 * permitted in any period of that length, and a client that never has more uses in such a period is never refused.
 *
 * If more than `clientsMax` clients are active, no one's count is forgotten. Further clients share allowances: they are
 * refused early, but never late.
 */
export class Rate {
  readonly #options: Required<RateOptions>
  /** By client, in the order in which they end, because all take the same time. */
  readonly #allowances = new Map<string, Allowance>()
  readonly #shared: Allowance[] = []
  /** Random, so that nobody can choose with whom they share. */
  readonly #seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0
  #sharedUntil = Number.NEGATIVE_INFINITY

  constructor(options: RateOptions) {
    this.#options = { clientsMax: CLIENTS_MAX, crowded: () => {}, ...options }
  }

  /** Counts a use. It is not permitted if less than nothing is `left`. */
  use(client: string, now: number): Allowance {
    const known = this.#allowances.get(client)
    const allowance = known !== undefined && now < known.endsAt ? known : this.#begin(client, now)
    allowance.left -= 1
    return allowance
  }

  /** The milliseconds until the next use of a client with an allowance of its own is permitted; 0 if it is now. */
  waitMs(client: string, now: number): number {
    const known = this.#allowances.get(client)
    return known === undefined || known.left > 0 ? 0 : Math.max(0, known.endsAt - now)
  }

  #begin(client: string, now: number): Allowance {
    this.#allowances.delete(client)
    this.#dropEnded(now)
    const isFull = this.#allowances.size >= this.#options.clientsMax
    if (isFull || now < this.#sharedUntil) {
      const place = this.#placeOf(client)
      const shared = this.#shared[place]
      if (shared !== undefined && now < shared.endsAt) return shared
      if (isFull) return this.#share(place, now)
    }
    const allowance = this.#fresh(now)
    this.#allowances.set(client, allowance)
    return allowance
  }

  #share(place: number, now: number): Allowance {
    this.#options.crowded(this.#options.clientsMax)
    const allowance = this.#fresh(now)
    this.#shared[place] = allowance
    this.#sharedUntil = allowance.endsAt
    return allowance
  }

  #placeOf(client: string): number {
    return Number(BigInt(hash(client, this.#seed)) % SHARED_ALLOWANCES)
  }

  #fresh(now: number): Allowance {
    return { left: this.#options.uses, endsAt: now + this.#options.windowMs }
  }

  #dropEnded(now: number): void {
    let dropped = 0
    for (const [client, { endsAt }] of this.#allowances) {
      if (now < endsAt || dropped === DROPPED_AT_ONCE) return
      this.#allowances.delete(client)
      dropped += 1
    }
  }
}
