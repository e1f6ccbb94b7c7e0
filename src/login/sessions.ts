import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from '../shared.ts'

/** The secret that sessions are signed with. */
export const SECRET_BYTES = 32

/** Stores the secret behind the signatures of sessions. */
export interface SecretRepository {
  /** The same for all processes, also after a restart. The first caller makes it. */
  secret(): Promise<Buffer>
}

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
  readonly #secret: () => Promise<Buffer>

  constructor(secrets: SecretRepository, seconds: number) {
    this.#secret = once(() => secrets.secret())
    this.#seconds = seconds
  }

  /** Makes a session for a user who has shown the credential. It ends early if `credential` changes. */
  async begin(holder: string, credential: string): Promise<string> {
    const claim = `${holder}.${Math.floor(Date.now() / 1_000) + this.#seconds}`
    return `${claim}.${signature(await this.#secret(), credential, claim).toString('base64url')}`
  }

  /** Resolves to the holder; `null` if the session has ended or is forged. `credentialOf` is `null` for an unknown holder. */
  async holder(session: string, credentialOf: (holder: string) => string | null): Promise<string | null> {
    const { claim = '', holder = '', end = '', signature: given = '' } = SESSION.exec(session)?.groups ?? {}
    const credential = credentialOf(holder)
    if (credential === null || Number(end) * 1_000 <= Date.now()) return null
    const expected = signature(await this.#secret(), credential, claim)
    const isOurs = timingSafeEqual(expected, Buffer.from(given, 'base64url'))
    return isOurs ? holder : null
  }
}

/** The key is made of both, so the database is not enough to forge the session of a user with the password. */
function signature(secret: Buffer, credential: string, claim: string): Buffer {
  const key = createHmac('sha256', secret).update(credential).digest()
  return createHmac('sha256', key).update(claim).digest()
}
