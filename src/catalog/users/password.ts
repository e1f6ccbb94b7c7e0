import { availableParallelism } from 'node:os'
import { BusyError } from '../../limits/busy-error.ts'
import { FairQueue } from '../../limits/fair-queue.ts'
import { type Distribution, Histogram, SECONDS } from '../../metrics/histogram.ts'
import { timed } from '../../tracing/timeline.ts'

/** OWASP's parameters for argon2id: 19 MiB of memory, two passes. */
const PARAMETERS = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const

/** Number of hashes computed at once, each with its own memory. More than one per core would only slow each other down. */
const HASHES_AT_ONCE = Math.min(4, availableParallelism())

/** A new password is rejected if it would have to wait for longer than this. */
const WAIT_MAX_MS = 2_000

/** The estimated duration of a hash before the first one has been measured. */
const FIRST_ESTIMATE_MS = 50
/** The weight of each new hash in the estimate. */
const ESTIMATE_WEIGHT = 0.25

/**
 * Computes the argon2id hash of a password, in PHC string format. Rejects with a `BusyError` if the queue is too long, and with
 * the signal's reason if the client disconnects while its password is queued.
 */
export type PasswordHasher = (password: string, client: AbortSignal) => Promise<string>

/** Counts of password hashing: current, and since the start. */
export interface HashingFigures {
  readonly inProgress: number
  readonly waiting: number
  readonly refused: number
  readonly seconds: Distribution
}

/** Hashes with limits on the memory for hashing and on the time in the queue. */
export class PasswordHashing {
  readonly #queue = new FairQueue(HASHES_AT_ONCE)
  readonly #seconds = new Histogram(SECONDS)
  #estimateMs = FIRST_ESTIMATE_MS
  #refused = 0

  get figures(): HashingFigures {
    const { held, length } = this.#queue
    return { inProgress: held, waiting: length, refused: this.#refused, seconds: this.#seconds }
  }

  readonly hash: PasswordHasher = async (password, client) => {
    const waitMs = (this.#queue.length / HASHES_AT_ONCE) * this.#estimateMs
    if (waitMs > WAIT_MAX_MS) {
      this.#refused += 1
      throw new BusyError('Too many passwords are waiting to be hashed', WAIT_MAX_MS / 1_000)
    }
    using _ = await timed('waiting to hash the password', () => this.#queue.take(client))
    const started = performance.now()
    try {
      return await timed('hashing the password', () => hash(password))
    } finally {
      const tookMs = performance.now() - started
      this.#estimateMs += (tookMs - this.#estimateMs) * ESTIMATE_WEIGHT
      this.#seconds.observe(tookMs / 1_000)
    }
  }
}

/** Computes one hash, without a queue. */
export function hash(password: string): Promise<string> {
  // The runtime refuses to hash an empty text. U+0000, which no password can contain, stands for it.
  return Bun.password.hash(password === '' ? '\0' : password, PARAMETERS)
}
