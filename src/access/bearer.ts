import type { Awaitable } from '../awaitable.ts'
import type { Key } from './key.ts'
import type { KeyRing } from './key-ring.ts'

/** The only way to send a key (RFC 6750, 2.1). A key in a query would be logged on its way. */
const BEARER = /^bearer +(\S+)$/i

/** The key that the `Authorization` header has; `null` if it has none that is valid. */
export function bearerKey(headers: Headers, keys: Pick<KeyRing, 'find'>): Awaitable<Key | null> {
  const authorization = headers.get('Authorization')
  const secret = authorization === null ? undefined : BEARER.exec(authorization)?.[1]
  return secret === undefined ? null : keys.find(secret)
}
