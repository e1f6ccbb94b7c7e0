import { METHOD_NAME_ALL } from 'hono/router'
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
  app.notFound(context => unrouted(app, context.req.path))
  app.onError((error, context) => errorResponse(error, context.env.requestId))
}

/** Answers 405 with `Allow` if the route has other methods, else 404. To the app, the path of a request is its route. */
function unrouted(app: App, route: string): Response {
  const methods = app.routes.filter(({ method, path }) => path === route && method !== METHOD_NAME_ALL)
  if (methods.length === 0) return detailResponse(404, 'Not Found')
  const allowed = methods.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return detailResponse(405, 'Method Not Allowed', { Allow: [...new Set(allowed)].join(', ') })
}
