import type { Feed } from '../events/feed.ts'
import type { Catalog } from '../http/operation.ts'
import type { Repositories } from '../repositories.ts'
import type { PasswordHasher } from '../users/password.ts'

/** The services that the pages use. */
export interface PageServices {
  readonly catalog: Catalog
  readonly repositories: Repositories
  readonly hashPassword: PasswordHasher
  /** `null` without `/events`. */
  readonly feed: Feed | null
  readonly hasAdminPage: boolean
  /** The number of entries of `X-Forwarded-Proto` to trust. */
  readonly trustedProxies: number
}
