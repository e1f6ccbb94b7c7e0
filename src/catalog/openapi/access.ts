import { type Access, needOf } from '../http/guard.ts'
import type { AnyContract } from '../http/operation.ts'

const ACCESS_KEY = { type: 'http', scheme: 'bearer', description: 'A key of `stockroom key create`' }

/** The member of the components that describes access keys. */
export function securitySchemesOf(access: Access | null) {
  return { ...(access && { securitySchemes: { AccessKey: ACCESS_KEY } }) }
}

/** The key that an operation requires; nothing if nobody needs one. */
export function securityOf({ url, method }: AnyContract, access: Access | null) {
  if (!access) return null
  const { scope, isPublic } = needOf(url, method.toUpperCase(), access)
  return {
    // Not the scope, because linters accept scopes of OAuth 2 only.
    security: [...(isPublic ? [{}] : []), { AccessKey: [] }],
    unauthorized: isPublic ? 'The access key is not valid' : `This requires an access key of the scope ${scope}`,
    // Every key is enough for a read.
    forbidden: scope === 'read' ? null : `This requires an access key of the scope ${scope}`,
  }
}
