import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from '../shared.ts'

/** The length of the secret that sessions are signed with. */
export const SECRET_BYTES = 32

/** The secret behind the signatures of sessions: the same for all processes, also after a restart. The first caller makes it. */
export type StoredSecret = () => Promise<Buffer>

/** A signed text: the holder, the end in seconds since 1970, and the signature. */
const SESSION = /^(?<claim>(?<holder>[a-z0-9-]+)\.(?<end>\d{1,12}))\.(?<signature>[\w-]{43})$/

/**
 * Makes and checks sessions. They are not stored: a session is a text that only a process with the secret of the database can
 * sign. So all processes accept each other's sessions, also after a restart.
 *
 * Not Hono's signed cookies: they import the key for each check, which takes a turn of the event loop.
 */
export class Sessions {
  readonly #seconds: number
  /** Made of both, so the database is not enough to forge the session of a user with the password. Another password ends sessions. */
  readonly #key: () => Promise<Buffer>

  constructor(secret: StoredSecret, password: string, seconds: number) {
    this.#key = once(async () => hmac(await secret(), password))
    this.#seconds = seconds
  }

  /** Makes a session for a user who has shown a credential. */
  async begin(holder: string): Promise<string> {
    const claim = `${holder}.${Math.floor(Date.now() / 1_000) + this.#seconds}`
    return `${claim}.${hmac(await this.#key(), claim).toString('base64url')}`
  }

  /** Resolves to the holder; `null` if the session has ended or is forged. */
  async holder(session: string): Promise<string | null> {
    const { claim = '', holder = '', end = '', signature = '' } = SESSION.exec(session)?.groups ?? {}
    if (Number(end) * 1_000 <= Date.now()) return null
    const isOurs = timingSafeEqual(hmac(await this.#key(), claim), Buffer.from(signature, 'base64url'))
    return isOurs ? holder : null
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
