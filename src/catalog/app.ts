import { OpenAPIHono } from '@hono/zod-openapi'
import { cors } from 'hono/cors'
import { finishApp } from '../server/app.ts'
import type { RequestScope } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { addCategories } from './categories/routes.ts'
import { addInterfaceDescription } from './openapi/routes.ts'
import type { Catalog } from './operation.ts'
import { addProducts } from './products/routes.ts'
import type { Repositories } from './repositories.ts'
import { addReviews } from './reviews/routes.ts'
import { addSlashRedirects } from './slash-redirects.ts'
import { passwordHasher } from './users/password.ts'
import { addUsers } from './users/routes.ts'

export interface CatalogOptions {
  readonly repositories: Repositories
  /** Web origins whose pages may call the service; none when empty. */
  readonly corsOrigins: readonly string[]
}

/** The store catalog service. It listens nowhere: `fetch` answers a request. */
export function createCatalog({ repositories, corsOrigins }: CatalogOptions): Catalog {
  const catalog: Catalog = new OpenAPIHono<{ Bindings: RequestScope }>(routing())
  if (corsOrigins.length > 0) {
    const exposeHeaders = ['Link', 'X-Request-Id', 'Retry-After']
    catalog.use(cors({ origin: corsOrigins.includes('*') ? '*' : [...corsOrigins], exposeHeaders, maxAge: 600 }))
  }
  addCategories(catalog, repositories.categories)
  addProducts(catalog, repositories.products)
  addReviews(catalog, repositories.reviews)
  addUsers(catalog, repositories.users, passwordHasher())
  addInterfaceDescription(catalog)
  addSlashRedirects(catalog)
  finishApp(catalog, repositories.probe)
  return catalog
}
