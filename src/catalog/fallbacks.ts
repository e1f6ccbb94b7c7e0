import { unrouted } from '../server/unrouted.ts'
import type { Catalog } from './operation.ts'

const COLLECTIONS = new Set(['/categories', '/products', '/reviews', '/users'])

/**
 * Answers what no route does: a collection without its final slash, a method that a path does not have, an unknown path.
 * Call it when all routes were added.
 */
export function addFallbacks(catalog: Catalog): void {
  const answer = unrouted(catalog.routes)
  catalog.notFound(context => {
    const { path, raw } = context.req
    if (COLLECTIONS.has(path)) {
      // Relative, so that behind a proxy it leads neither to http nor to an inner host.
      return new Response(null, { status: 307, headers: { Location: `${path}/${new URL(raw.url).search}` } })
    }
    return answer(path)
  })
}
