/** A queue is full or a budget is spent. Clients get a 503 that asks them to retry after `retryAfterSeconds`. */
export class BusyError extends Error {
  override name = 'BusyError'
  readonly retryAfterSeconds: number

  constructor(reason: string, retryAfterSeconds = 1) {
    super(reason)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** One client has used up its share, and others are still served. The client gets a 429. */
export class ClientLimitError extends BusyError {
  override name = 'ClientLimitError'
}
