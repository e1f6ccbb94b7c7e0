import { isUtf8 } from 'node:buffer'
import { createHash, timingSafeEqual } from 'node:crypto'
import { getLogger } from '@logtape/logtape'
import { bearerToken } from '../access/bearer.ts'
import { allows, digestOf, isSecret, type Key } from '../access/key.ts'
import type { KeyRing } from '../access/key-ring.ts'
import { ClientLimitError } from '../limits/busy-error.ts'
import { Rate } from '../limits/rate.ts'
import { normalized } from '../normalized.ts'
import { type SessionCookie, sessionsIn } from './session-cookie.ts'
import { Sessions, type StoredSecret } from './sessions.ts'

const log = getLogger(['stockroom', 'login'])

/** The scope that a key needs. */
export const NEEDED_SCOPE = 'write'

/** A session ends this long after the log-in, however much it is used. */
const SESSION_SECONDS = 43_200

/** Limits on wrong passwords in a minute, of one address and of all together: somebody may guess from many networks. */
const ATTEMPTS_MAX = 10
const TOTAL_ATTEMPTS_MAX = 30
const MINUTE_MS = 60_000

/** Stands for all addresses together. */
const ALL = ''

/** The holder of a session that began with the password. For a key, it is the prefix and the key's digest. */
const PASSWORD = 'password'
const KEY_PREFIX = 'key-'

export interface LoginOptions {
  /** `null` if there is no password. */
  readonly password: string | null
  /** `null` if users cannot log in with keys. */
  readonly keys: KeyRing | null
  readonly secret: StoredSecret
  /** The name of the session cookie. Servers on one host need different names. */
  readonly cookieName: string
  /** The number of entries of `X-Forwarded-Proto` to trust. */
  readonly trustedProxies: number
  readonly sessionSeconds?: number
}

/** Lets users in if they know the password, or have an access key with the scope. */
export class Login {
  readonly cookie: SessionCookie
  readonly #password: string | null
  readonly #keys: KeyRing | null
  /** The wrong passwords of each address, and of all together, in the memory of this process. */
  readonly #attempts = new Rate({ uses: ATTEMPTS_MAX, windowMs: MINUTE_MS })
  readonly #allAttempts = new Rate({ uses: TOTAL_ATTEMPTS_MAX, windowMs: MINUTE_MS })
  readonly #sessions: Sessions

  constructor(options: LoginOptions) {
    const { password, keys, secret, cookieName, trustedProxies, sessionSeconds = SESSION_SECONDS } = options
    this.cookie = { name: cookieName, seconds: sessionSeconds, trustedProxies }
    this.#password = password
    this.#keys = keys
    this.#sessions = new Sessions(secret, normalized(password ?? '', 'NFC'), sessionSeconds)
  }

  /** The kind of credential that users log in with. */
  get credential(): 'password' | 'access key' | 'password or access key' {
    if (this.#password === null) return 'access key'
    return this.#keys === null ? 'password' : 'password or access key'
  }

  /**
   * Resolves to a new session if this is a password or key to log in with, otherwise to `null`. Throws a `ClientLimitError`
   * after too many wrong passwords.
   */
  async begin(text: string, address: string): Promise<string | null> {
    // Blanks are easily copied along, and no key has any.
    const secret = text.trim()
    const key = await this.#keys?.find(secret)
    if (!key) return this.#isPassword(text, address) ? this.#sessions.begin(PASSWORD) : null
    return allows(key.scope, NEEDED_SCOPE) ? this.#sessions.begin(KEY_PREFIX + digestOf(secret)) : null
  }

  /** The key that a request was sent with, or that its session began with; `null` without a valid one. */
  async keyOf(headers: Headers): Promise<Key | null> {
    if (this.#keys === null) return null
    const token = bearerToken(headers)
    if (token !== null) return this.#keys.find(token)
    const holder = await this.#holderIn(headers)
    return holder?.startsWith(KEY_PREFIX) ? this.#keys.findDigest(holder.slice(KEY_PREFIX.length)) : null
  }

  /** Whether to serve a request with this key. Throws as `begin` does, because a program may send the password. */
  async admits(headers: Headers, key: Key | null, address: string): Promise<boolean> {
    if (key) return allows(key.scope, NEEDED_SCOPE)
    const token = bearerToken(headers)
    if (token !== null) return this.#isPassword(textOf(token), address)
    return (await this.#holderIn(headers)) === PASSWORD
  }

  async #holderIn(headers: Headers): Promise<string | null> {
    for (const session of sessionsIn(headers, this.cookie)) {
      const holder = await this.#sessions.holder(session)
      if (holder !== null) return holder
    }
    return null
  }

  #isPassword(text: string, address: string): boolean {
    // Nobody can guess a key, so a revoked one does not count as a wrong password.
    if (this.#keys !== null && isSecret(text.trim())) return false
    const now = performance.now()
    const waitMs = Math.max(this.#allAttempts.waitMs(ALL, now), this.#attempts.waitMs(address, now))
    if (waitMs > 0) throw new ClientLimitError('Too many wrong passwords', Math.ceil(waitMs / 1_000))
    if (this.#password !== null && isSame(text, this.#password)) return true
    const ofAddress = this.#attempts.use(address, now)
    const ofAll = this.#allAttempts.use(ALL, now)
    if (ofAll.left === 0) log.warning('too many wrong passwords from all clients together; nobody can log in for now')
    else if (ofAddress.left === 0) log.warning('too many wrong passwords from {client}', { client: address })
    return false
  }
}

/** The runtime reads each byte of a header as a character of Latin-1, but most programs send UTF-8. */
function textOf(token: string): string {
  const bytes = Buffer.from(token, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : token
}

/** Takes the same time for every text of a length. */
function isSame(text: string, password: string): boolean {
  return timingSafeEqual(digest(text), digest(password))
}

/** Keyboards write accents in two ways, which NFC makes one. */
function digest(text: string): Buffer {
  return createHash('sha256').update(normalized(text, 'NFC')).digest()
}
