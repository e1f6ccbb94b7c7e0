import { once } from '../../shared.ts'
import type { Catalog } from '../http/operation.ts'
import { interfaceDescription } from './document.ts'

const PAGE_HEADERS = {
  // Nothing from another origin. Swagger UI sets styles on elements and draws with inline pictures.
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

const ASSETS = ['/docs/swagger-ui.js', '/docs/swagger-ui.css', '/docs/page.css', '/docs/start.js'] as const

/** Serves both interface descriptions and the interactive page. Call it when all operations were added. */
export function addInterfaceDescriptions({ app, contracts, access }: Catalog): void {
  // The first request makes a description or loads the page: together they take longer than the rest of the start.
  let specified: string | undefined
  const strict = once(async () => (await import('./strict.ts')).strictDescription(contracts, access))
  const docs = () => import('./docs.tsx')
  const json = { 'Content-Type': 'application/json' }
  app.get('/openapi.json', context => {
    specified ??= interfaceDescription(contracts, access)
    return context.body(specified, 200, json)
  })
  app.get('/openapi.strict.json', async context => context.body(await strict(), 200, json))
  app.get('/docs', async context =>
    context.html((await docs()).page(context.req.query('description')), 200, PAGE_HEADERS),
  )
  app.get('/redoc', context => context.redirect('/docs', 307))
  for (const path of ASSETS) app.get(path, async context => (await docs()).ASSETS[path](context.req.raw))
}
