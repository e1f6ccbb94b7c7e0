import type { Awaitable } from '../awaitable.ts'
import type { Key } from './key.ts'
import type { KeyRing } from './key-ring.ts'

/** The only way to send a key (RFC 6750, 2.1). A key in a query would be logged on its way. */
const BEARER = /^bearer +(.+)$/i

/** The key that the `Authorization` header has; `null` if it has none that is valid. */
export function bearerKey(headers: Headers, keys: Pick<KeyRing, 'find'>): Awaitable<Key | null> {
  const token = bearerToken(headers)
  return token === null ? null : keys.find(token)
}

export function bearerToken(headers: Headers): string | null {
  const authorization = headers.get('Authorization')
  return authorization === null ? null : (BEARER.exec(authorization)?.[1] ?? null)
}
