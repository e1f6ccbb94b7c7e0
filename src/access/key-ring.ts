import type { Awaitable } from '../awaitable.ts'
import { type Clock, pause, systemClock } from '../clock.ts'
import { following } from '../shared.ts'
import { digestOf, isSecret, type Key } from './key.ts'
import type { KeyRepository } from './repository.ts'

/** Keys that were read longer ago are read again before they are used, so a revoked key is refused after this time. */
const USED_MS = 1_000

/** Keys that were read longer ago are read again, while requests still use them. */
const FRESH_MS = 500

/** The shortest time between two reads, however many unknown keys clients send. */
const PAUSE_MS = 100

/**
 * The keys of the database, in memory. Other processes create and revoke keys in the meantime: a new one is found at once, a
 * revoked one is refused within a second. If the database cannot be read for that long, every key is refused with a
 * `DatabaseUnavailableError`.
 */
export class KeyRing {
  readonly #repository: Pick<KeyRepository, 'list'>
  readonly #clock: Clock
  /** By their digests. How long a look-up takes tells at most about the digest of a guess, which helps nobody to guess a secret. */
  #keys: ReadonlyMap<string, Key> = new Map()
  /** The start of the read that found these keys. */
  #keysFrom = Number.NEGATIVE_INFINITY
  #lastBegan = Number.NEGATIVE_INFINITY

  constructor(repository: Pick<KeyRepository, 'list'>, clock = systemClock) {
    this.#repository = repository
    this.#clock = clock
  }

  /** `null` if there is no key with this secret. */
  find(secret: string): Awaitable<Key | null> {
    return isSecret(secret) ? this.findDigest(digestOf(secret)) : null
  }

  /** Like `find`, by the hexadecimal digest of the secret, for a client that has shown the secret before. */
  findDigest(digest: string): Awaitable<Key | null> {
    const known = () => this.#keys.get(digest) ?? null
    return (this.#isUsable() && known()) || this.#readAgain().then(known)
  }

  async isEmpty(): Promise<boolean> {
    await this.#readAgain()
    return this.#keys.size === 0
  }

  /** Whether the keys may be used. Begins to read them again before they expire. */
  #isUsable(): boolean {
    const age = this.#clock.now() - this.#keysFrom
    if (age > FRESH_MS && age <= USED_MS) void this.#readAgain().catch(() => {})
    return age <= USED_MS
  }

  /** Resolves after a read that has begun after this call. */
  readonly #readAgain = following(
    () => this.#read(),
    async () => {
      const early = this.#lastBegan + PAUSE_MS - this.#clock.now()
      if (early > 0) await pause(this.#clock, early)
    },
  )

  async #read(): Promise<void> {
    const began = this.#clock.now()
    this.#lastBegan = began
    const stored = await this.#repository.list()
    this.#keys = new Map(stored.map(({ digest, name, scope }) => [digest, { name, scope }]))
    this.#keysFrom = began
  }
}
