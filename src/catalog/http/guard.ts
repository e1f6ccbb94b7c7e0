import { allows, type Scope } from '../../access/key.ts'
import type { KeyRing } from '../../access/key-ring.ts'
import { HttpError } from '../../server/errors.ts'
import type { Fetch, RequestScope } from '../../server/requests.ts'

/** The rules of access to the service. */
export interface Access {
  readonly keys: KeyRing
  /** Whether categories, products and reviews may be read without a key. */
  readonly publicReads: boolean
}

/** The access that a request needs. */
export interface Need {
  readonly scope: Scope
  /** Whether it is allowed without a key, too. A key that is sent nevertheless must be valid. */
  readonly isPublic: boolean
}

/** The method is in upper case. */
export function needOf(route: string, method: string, { publicReads }: Access): Need {
  if (route.startsWith('/users/')) return { scope: 'admin', isPublic: false }
  return method === 'GET' ? { scope: 'read', isPublic: publicReads } : { scope: 'write', isPublic: false }
}

/** Makes an operation refuse requests without the right key, before it reads any part of a request. */
export function guarded({ scope: needed, isPublic }: Need, handle: Fetch): Fetch {
  return (request, scope) => {
    if (scope.key !== null || !isPublic || request.headers.get('Authorization') !== null) mustAllow(scope, needed)
    return handle(request, scope)
  }
}

/** Throws an `HttpError` unless the key of the request allows as much. */
export function mustAllow({ request, key }: Pick<RequestScope, 'request' | 'key'>, needed: Scope): void {
  if (key === null) {
    if (!request.headers.get('Authorization')) throw refusal(401, 'Not authenticated')
    throw refusal(401, 'Invalid authentication credentials', ', error="invalid_token"')
  }
  if (allows(key.scope, needed)) return
  throw refusal(403, 'Not enough permissions', `, error="insufficient_scope", scope="${needed}"`)
}

/** In the words of FastAPI's `HTTPBearer`. The header is that of RFC 6750, 3. */
function refusal(status: 401 | 403, detail: string, reason = ''): HttpError {
  return new HttpError(status, detail, { 'WWW-Authenticate': `Bearer realm="stockroom"${reason}` })
}
