import { getLogger } from '@logtape/logtape'
import { atMostEvery } from '../limits/at-most-every.ts'
import { Tally } from '../limits/tally.ts'
import { HttpError } from './errors.ts'

const log = getLogger(['stockroom', 'server'])

/** `Retry-After` of the 429. */
const TOO_MANY_RETRY_SECONDS = 5

/** The log mentions clients at the limit at most this often. */
const LOG_INTERVAL_MS = 60_000

/** Counts the open event streams of each client address, because each takes memory for as long as the client likes. */
export class ClientStreams {
  readonly #max: number
  readonly #open = new Tally()
  readonly #mayLog = atMostEvery(LOG_INTERVAL_MS)

  constructor(max: number) {
    this.#max = max
  }

  /** The open streams of all clients. */
  get total(): number {
    return this.#open.total
  }

  /** Throws an `HttpError` 429 if the client is at the limit. */
  check(client: string): void {
    if (this.#open.of(client) < this.#max) return
    if (this.#mayLog()) {
      log.warning(
        'the client {client} has {max} event streams open, the maximum; if it is a proxy, set TRUSTED_PROXIES',
        { client, max: this.#max },
      )
    }
    throw new HttpError(429, 'Too many event streams are open', { 'Retry-After': String(TOO_MANY_RETRY_SECONDS) })
  }

  /** Checks, then counts one more stream until the result is disposed of. */
  open(client: string): Disposable {
    this.check(client)
    return this.#open.add(client)
  }
}
