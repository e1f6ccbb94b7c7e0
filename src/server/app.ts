import { METHOD_NAME_ALL } from 'hono/router'
import { TrieRouter } from 'hono/router/trie-router'
import { detailResponse, errorResponse } from './errors.ts'
import type { App } from './requests.ts'

/** Resolves while the app can serve requests; rejects with the reason when it cannot. */
export type Probe = () => Promise<void>

/**
 * Adds the routes that every server has: `/healthz` (also `/health`) while the process is alive, `/readyz`
 * while the probe passes, and JSON answers for unknown paths, wrong methods and errors. Call it after adding all routes.
 */
export function finishApp(app: App, probe?: Probe): void {
  for (const path of ['/healthz', '/health']) app.get(path, context => context.json({ status: 'ok' }))
  if (probe) {
    app.get('/readyz', async context => {
      await probe()
      return context.json({ status: 'ready' })
    })
  }
  const answerUnrouted = unrouted(app.routes)
  app.notFound(context => answerUnrouted(context.req.path))
  app.onError((error, context) => errorResponse(error, context.env.requestId))
}

/**
 * Answers 405 with `Allow` if the path has other methods, else 404. `hono/method-not-allowed` does the same with the same
 * router, but as middleware it would run for each request; this runs only when no route matches.
 */
function unrouted(routes: readonly { readonly method: string; readonly path: string }[]): (path: string) => Response {
  const methodsByPath = new TrieRouter<string>()
  for (const { method, path } of routes) {
    if (method !== METHOD_NAME_ALL) methodsByPath.add(METHOD_NAME_ALL, path, method)
  }
  return path => {
    const methods = methodsByPath.match(METHOD_NAME_ALL, path)[0].map(([method]) => method)
    if (methods.length === 0) return detailResponse(404, 'Not Found')
    const allowed = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    return detailResponse(405, 'Method Not Allowed', { Allow: [...new Set(allowed)].join(', ') })
  }
}
