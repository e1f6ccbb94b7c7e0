import { timingSafeEqual } from 'node:crypto'
import type { Awaitable } from '../awaitable.ts'
import { type Clock, pause, systemClock } from '../clock.ts'
import { digestOf, isSecret, type Key } from './key.ts'
import type { KeyRepository } from './repository.ts'

/** Keys that were read longer ago, in milliseconds, are read again before they are used. So a revoked key is refused after this time. */
const USED_MS = 1_000

/** Keys that were read longer ago are read again, while requests still use them. */
const FRESH_MS = 500

/** The shortest time between two reads, however many unknown keys clients send. */
const PAUSE_MS = 100

interface KnownKey {
  readonly digest: Buffer
  readonly key: Key
}

/**
 * The keys of the database, in memory. Other processes create and revoke keys in the meantime: a new one is found at once, a
 * revoked one is refused within a second. If the database cannot be read, so is every key after that second, with a
 * `DatabaseUnavailableError`.
 */
export class KeyRing {
  readonly #repository: Pick<KeyRepository, 'list'>
  readonly #clock: Clock
  #keys: ReadonlyMap<string, KnownKey> = new Map()
  /** When the read that found these keys began. */
  #keysFrom = Number.NEGATIVE_INFINITY
  #lastBegan = Number.NEGATIVE_INFINITY
  #reading: Promise<void> = Promise.resolve()
  #nextReading: Promise<void> | null = null

  constructor(repository: Pick<KeyRepository, 'list'>, clock = systemClock) {
    this.#repository = repository
    this.#clock = clock
  }

  /** `null` if there is no key with this secret. */
  find(secret: string): Awaitable<Key | null> {
    if (!isSecret(secret)) return null
    const digest = digestOf(secret)
    const age = this.#clock.now() - this.#keysFrom
    if (age <= USED_MS) {
      if (age > FRESH_MS) void this.#readAgain().catch(() => {})
      const known = this.#known(digest)
      if (known) return known
    }
    return this.#readAgain().then(() => this.#known(digest))
  }

  async isEmpty(): Promise<boolean> {
    await this.#readAgain()
    return this.#keys.size === 0
  }

  #known(digest: string): Key | null {
    // The digest of a guess tells nothing about a secret, so only the comparison takes constant time.
    const known = this.#keys.get(digest)
    return known && timingSafeEqual(known.digest, Buffer.from(digest)) ? known.key : null
  }

  /** Resolves after a read that has begun after this call. All callers who wait for one share it. */
  #readAgain(): Promise<void> {
    this.#nextReading ??= this.#readNext()
    return this.#nextReading
  }

  async #readNext(): Promise<void> {
    await this.#reading.catch(() => {})
    const early = this.#lastBegan + PAUSE_MS - this.#clock.now()
    if (early > 0) await pause(this.#clock, early)
    this.#nextReading = null
    this.#reading = this.#read()
    return this.#reading
  }

  async #read(): Promise<void> {
    const began = this.#clock.now()
    this.#lastBegan = began
    const keys = await this.#repository.list()
    this.#keys = new Map(
      keys.map(({ digest, name, scope }) => [digest, { digest: Buffer.from(digest), key: { name, scope } }]),
    )
    this.#keysFrom = began
  }
}
