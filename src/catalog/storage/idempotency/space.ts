import { BusyError } from '../../../limits/busy-error.ts'
import { shared } from '../../../shared.ts'
import type { KeyStore } from './keys.ts'

/** The space in use is measured again after this long, because other processes add and delete keys. */
const MEASURED_MS = 60_000

/** It is also measured when this process has added this share of the limit. */
const ADDED_SHARE = 1 / 64

/** Limits the size of a database's keys. It notices additions of other processes late, so the keys may exceed the limit. */
export class AnswerSpace {
  readonly #store: KeyStore
  readonly #maxBytes: number
  #usedBytes = 0
  #addedBytes = 0
  #measuredAt = Number.NEGATIVE_INFINITY

  constructor(store: KeyStore, maxBytes: number) {
    this.#store = store
    this.#maxBytes = maxBytes
  }

  readonly add = (bytes: number): void => {
    this.#addedBytes += bytes
  }

  /** Rejects with a `BusyError` if the limit is reached. No key is deleted to make space: each still protects its request. */
  async mustBeLeft(): Promise<void> {
    const isOld = performance.now() > this.#measuredAt + MEASURED_MS
    if (isOld || this.#addedBytes > this.#maxBytes * ADDED_SHARE) await this.#measure()
    if (this.#usedBytes + this.#addedBytes < this.#maxBytes) return
    throw new BusyError('Too many idempotency keys of the last day are kept', MEASURED_MS / 1_000)
  }

  readonly #measure = shared(async () => {
    this.#addedBytes = 0
    this.#usedBytes = await this.#store.bytes()
    this.#measuredAt = performance.now()
  })
}
