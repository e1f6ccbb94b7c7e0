import { queryOf } from '../server/request-target.ts'
import { unrouted } from '../server/unrouted.ts'
import type { Catalog } from './operation.ts'

const COLLECTIONS = ['/categories', '/products', '/reviews', '/users']

/**
 * Answers what no route does: a collection without its final slash, a method that a path does not have, an unknown path.
 * Call it when all routes were added.
 */
export function addFallbacks(catalog: Catalog): void {
  const answer = unrouted(catalog.routes)
  catalog.notFound(context => answer(context.req.path))
  for (const path of COLLECTIONS) {
    // Relative, so that behind a proxy it leads neither to http nor to an inner host.
    catalog.all(path, ({ req }) => {
      return new Response(null, { status: 307, headers: { Location: `${path}/${queryOf(req.raw.url)}` } })
    })
  }
}
