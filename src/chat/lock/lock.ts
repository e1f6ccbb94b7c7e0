import { createHash, timingSafeEqual } from 'node:crypto'
import { getLogger } from '@logtape/logtape'
import { ClientLimitError } from '../../busy-error.ts'
import { Attempts } from './attempts.ts'
import { SESSION_SECONDS } from './limits.ts'
import type { SecretRepository } from './repository.ts'
import { Sessions } from './sessions.ts'

const log = getLogger(['stockroom', 'chat'])

/** The holder of a session that began with the password. */
const PASSWORD = 'password'

export interface LockOptions {
  readonly password: string
  readonly secrets: SecretRepository
  /** How many entries of `X-Forwarded-Proto` to trust. */
  readonly trustedProxies: number
  readonly sessionSeconds?: number
}

/** Decides who may use the chat. */
export class Lock {
  readonly trustedProxies: number
  readonly sessionSeconds: number
  readonly #password: string
  readonly #attempts = new Attempts()
  readonly #sessions: Sessions

  constructor({ password, secrets, trustedProxies, sessionSeconds = SESSION_SECONDS }: LockOptions) {
    this.trustedProxies = trustedProxies
    this.sessionSeconds = sessionSeconds
    this.#password = password
    this.#sessions = new Sessions(secrets, sessionSeconds)
  }

  /**
   * Resolves to a new session if this is the password, otherwise to `null`. Throws a `ClientLimitError` after too many wrong
   * ones.
   */
  async open(text: string, address: string): Promise<string | null> {
    return this.accepts(text, address) ? this.#sessions.begin(PASSWORD, this.#password) : null
  }

  /** Whether this is the password. Throws as `open` does. */
  accepts(text: string, address: string): boolean {
    const seconds = this.#attempts.secondsToWait(address)
    if (seconds > 0) throw new ClientLimitError('Too many wrong passwords', seconds)
    if (isSame(text, this.#password)) return true
    if (this.#attempts.fail(address)) log.warning('too many wrong passwords from {client}', { client: address })
    return false
  }

  /** Whether the session is ours and has not ended. */
  async knows(session: string): Promise<boolean> {
    const credentialOf = (holder: string) => (holder === PASSWORD ? this.#password : null)
    return (await this.#sessions.holder(session, credentialOf)) !== null
  }
}

/** Takes the same time for every text of a length. Keyboards write accents in two ways, which NFC makes one. */
function isSame(text: string, password: string): boolean {
  return timingSafeEqual(digest(text), digest(password))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text.normalize('NFC')).digest()
}
