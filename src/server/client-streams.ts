import { getLogger } from '@logtape/logtape'
import { HttpError } from './errors.ts'

const log = getLogger(['stockroom', 'server'])

/** What a 429 asks a client to wait before it tries again. */
const RETRY_AFTER_SECONDS = 5

/** The log tells of clients at the bound this often. */
const TELL_EVERY_MS = 60_000

/** The open event streams of each client, by its address. Each takes memory for as long as the client likes. */
export class ClientStreams {
  readonly #max: number
  readonly #open = new Map<string, number>()
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(max: number) {
    this.#max = max
  }

  /** Throws an `HttpError` 429 if the client has as many as it may. */
  check(client: string): void {
    if ((this.#open.get(client) ?? 0) < this.#max) return
    if (performance.now() - this.#toldAt > TELL_EVERY_MS) {
      this.#toldAt = performance.now()
      log.warning(
        'the client {client} has {max} event streams open, as many as it may; behind a proxy, set TRUSTED_PROXIES',
        { client, max: this.#max },
      )
    }
    throw new HttpError(429, 'Too many event streams are open', { 'Retry-After': String(RETRY_AFTER_SECONDS) })
  }

  /** Counts one more. Throws as `check` does; call the answer once, when the stream has ended. */
  begin(client: string): () => void {
    this.check(client)
    this.#open.set(client, (this.#open.get(client) ?? 0) + 1)
    return () => {
      const others = (this.#open.get(client) ?? 1) - 1
      if (others === 0) this.#open.delete(client)
      else this.#open.set(client, others)
    }
  }
}
