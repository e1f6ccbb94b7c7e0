import { METHOD_NAME_ALL } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'
import { detailResponse } from '../server/errors.ts'
import type { Catalog } from './operation.ts'

const COLLECTIONS = new Set(['/categories', '/products', '/reviews', '/users'])

/**
 * Answers what no route does: a collection without its final slash, a method that a path does not have, an unknown path.
 * Call it when all routes were added.
 */
export function addFallbacks(catalog: Catalog): void {
  const methodsByPath = new TrieRouter<string>()
  for (const route of catalog.routes) {
    if (route.method !== METHOD_NAME_ALL) methodsByPath.add(METHOD_NAME_ALL, route.path, route.method)
  }
  catalog.notFound(context => {
    const { path, raw } = context.req
    if (COLLECTIONS.has(path)) {
      // Relative, so that behind a proxy it leads neither to http nor to an inner host.
      return new Response(null, { status: 307, headers: { Location: `${path}/${new URL(raw.url).search}` } })
    }
    const methods = methodsByPath.match(METHOD_NAME_ALL, path)[0].map(([method]) => method)
    if (methods.length === 0) return detailResponse(404, 'Not Found')
    const allowed = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return detailResponse(405, 'Method Not Allowed', { Allow: [...new Set(allowed)].join(', ') })
  })
}
