/** The scopes of keys. Each allows more than the one before. */
export const SCOPES = ['read', 'write', 'admin'] as const

export type Scope = (typeof SCOPES)[number]

/** An access key, without its secret. */
export interface Key {
  /** Not secret: lists and logs show it. Its characters need no escaping anywhere. */
  readonly name: string
  readonly scope: Scope
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Makes secrets recognizable, for example to programs that look for secrets in code. */
const PREFIX = 'stockroom_'

const SECRET = /^stockroom_[A-Za-z0-9_-]{43}$/

const SECRET_BYTES = 32

export function isKeyName(text: string): boolean {
  return NAME.test(text)
}

export function allows(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed)
}

/** 256 random bits, in base64url after the prefix. */
export function newSecret(): string {
  return PREFIX + Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES))).toString('base64url')
}

export function isSecret(text: string): boolean {
  return SECRET.test(text)
}

/** The hexadecimal SHA-256 digest that is stored for a secret. */
export function digestOf(secret: string): string {
  return Bun.SHA256.hash(secret, 'hex')
}
