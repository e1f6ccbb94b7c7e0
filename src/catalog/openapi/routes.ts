import type { Catalog } from '../operation.ts'
import { interfaceDescription } from './document.ts'

const PAGE_HEADERS = {
  // Nothing from another origin. Swagger UI sets styles on elements and draws with inline pictures.
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

const ASSETS = ['/docs/swagger-ui.js', '/docs/swagger-ui.css', '/docs/narrow.css', '/docs/start.js'] as const

/** Serves `/openapi.json` and the interactive page on it. Call it when all operations were added. */
export function addInterfaceDescription(app: Catalog['app']): void {
  // The first request makes the description and loads the page: together they take longer than the rest of the start.
  let description: string | undefined
  const docs = () => import('./docs.tsx')
  app.get('/openapi.json', context => {
    description ??= interfaceDescription(app)
    return context.body(description, 200, { 'Content-Type': 'application/json' })
  })
  app.get('/docs', async context => context.html((await docs()).PAGE, 200, PAGE_HEADERS))
  app.get('/redoc', context => context.redirect('/docs', 307))
  for (const path of ASSETS) app.get(path, async context => (await docs()).ASSETS[path](context.req.raw))
}
