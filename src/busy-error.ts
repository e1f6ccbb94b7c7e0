/** Too much of one kind of work is waiting already. It is worth trying again after `retryAfterSeconds`. */
export class BusyError extends Error {
  override name = 'BusyError'
  readonly retryAfterSeconds: number

  constructor(reason: string, retryAfterSeconds = 1) {
    super(reason)
    this.retryAfterSeconds = retryAfterSeconds
  }
}
