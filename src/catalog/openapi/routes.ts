import { asset } from '../../server/asset.ts'
import { once } from '../../shared.ts'
import type { Catalog } from '../http/operation.ts'
import { interfaceDescription } from './document.ts'

const PAGE_HEADERS = {
  // Nothing from another origin. Swagger UI sets styles on elements and draws with inline pictures.
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

const JSON_TYPE = 'application/json'

const ASSETS = ['/docs/swagger-ui.js', '/docs/swagger-ui.css', '/docs/page.css', '/docs/start.js'] as const

/** Serves both interface descriptions and the interactive page. Call it when all operations were added. */
export function addInterfaceDescriptions({ app, contracts, access }: Catalog): void {
  // The first request makes a description or loads the page: together they take longer than the rest of the start.
  const specified = once(async () => asset(interfaceDescription(contracts, access), JSON_TYPE))
  const strict = once(async () => asset((await import('./strict.ts')).strictDescription(contracts, access), JSON_TYPE))
  const docs = () => import('./docs.tsx')
  app.get('/openapi.json', async context => (await specified())(context.req.raw))
  app.get('/openapi.strict.json', async context => (await strict())(context.req.raw))
  app.get('/docs', async context =>
    context.html((await docs()).page(context.req.query('description')), 200, PAGE_HEADERS),
  )
  app.get('/redoc', context => context.redirect('/docs', 307))
  for (const path of ASSETS) app.get(path, async context => (await docs()).ASSETS[path](context.req.raw))
}
