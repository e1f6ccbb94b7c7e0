import { Hono } from 'hono'
import { bearerKey } from '../access/bearer.ts'
import { finishApp } from '../server/app.ts'
import { CrossOrigin } from '../server/cross-origin.ts'
import type { App, ServedApp } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { creationOf } from './bulk/creation.ts'
import { CATEGORY_LINES, PRODUCT_LINES, REVIEW_LINES, USER_LINES } from './bulk/resources.ts'
import { addCategories } from './categories/routes.ts'
import { addEvents } from './events/routes.ts'
import type { Budgets } from './http/budgets.ts'
import type { Access } from './http/guard.ts'
import { IDEMPOTENCY_REPLAYED } from './http/idempotency/header.ts'
import type { Catalog } from './http/operation.ts'
import { TOTAL_COUNT } from './http/streamed.ts'
import { addInterfaceDescriptions } from './openapi/routes.ts'
import { addPages } from './pages/routes.ts'
import type { PageServices } from './pages/services.ts'
import { addFacets } from './products/facets.ts'
import { addRatings } from './products/ratings.ts'
import { addProducts } from './products/routes.ts'
import { addReviews } from './reviews/routes.ts'
import { addUsers } from './users/routes.ts'

/** The headers of responses that pages of other origins may read. */
const EXPOSED_HEADERS = [
  ...['Link', 'ETag', 'X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy'],
  ...[IDEMPOTENCY_REPLAYED, TOTAL_COUNT, 'Preference-Applied'],
]

export interface CatalogOptions extends Omit<PageServices, 'catalog'> {
  readonly budgets: Budgets
  /** Web origins whose pages may call the service; if empty, none may. */
  readonly corsOrigins: readonly string[]
  /** `null` if anyone may do anything. */
  readonly access: Access | null
}

/** The store catalog service. It opens no port. */
export function createCatalog(options: CatalogOptions): ServedApp {
  const { repositories, budgets, hashPassword, corsOrigins, feed, access } = options
  const app: App = new Hono(routing())
  const { categories, products, reviews, users, loader, idempotency } = repositories
  const catalog: Catalog = { app, operations: new Map(), contracts: [], access, idempotency, budgets }
  const means = { loader, hashPassword, idempotency, bodies: budgets.bulkBodies }
  addCategories(catalog, categories, creationOf(CATEGORY_LINES, means))
  addFacets(catalog, repositories.countFacets)
  addProducts(catalog, products, creationOf(PRODUCT_LINES, means))
  addRatings(catalog, products)
  addReviews(catalog, reviews, creationOf(REVIEW_LINES, means))
  addUsers(catalog, users, creationOf(USER_LINES, means), hashPassword)
  if (feed) addEvents(catalog, feed)
  addInterfaceDescriptions(catalog)
  const identifyOnPages = addPages({ ...options, catalog })
  finishApp(app, repositories.probe)
  return {
    fetch: app.fetch,
    routes: app.routes,
    direct: catalog.operations,
    ...(corsOrigins.length > 0 && { crossOrigin: new CrossOrigin(corsOrigins, EXPOSED_HEADERS) }),
    cacheControl: route => (catalog.operations.has(route) ? cacheControl(route, access) : null),
    ...(access && {
      identify: route =>
        catalog.operations.has(route) ? headers => bearerKey(headers, access.keys) : identifyOnPages(route),
    }),
  }
}

/**
 * Personal data may not be kept by any cache, neither a resource nor an error about it. All else of the catalog may be kept
 * if it is revalidated before each use, but not by a cache that several clients share if each of them needs a key.
 */
function cacheControl(route: string, access: Access | null): string {
  if (route.startsWith('/users/')) return 'no-store'
  return access && !access.publicReads ? 'private, no-cache' : 'no-cache'
}
