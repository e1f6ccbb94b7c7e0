import { METHOD_NAME_ALL } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'
import { detailResponse } from './errors.ts'

/** The answer to a request that no route takes: 405 with `Allow` where the path has other methods, else 404. */
export function unrouted(routes: readonly { readonly method: string; readonly path: string }[]) {
  const methodsByPath = new TrieRouter<string>()
  for (const { method, path } of routes) {
    if (method !== METHOD_NAME_ALL) methodsByPath.add(METHOD_NAME_ALL, path, method)
  }
  return (path: string): Response => {
    const methods = methodsByPath.match(METHOD_NAME_ALL, path)[0].map(([method]) => method)
    if (methods.length === 0) return detailResponse(404, 'Not Found')
    const allowed = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return detailResponse(405, 'Method Not Allowed', { Allow: [...new Set(allowed)].join(', ') })
  }
}
