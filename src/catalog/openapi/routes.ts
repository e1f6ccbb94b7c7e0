import styles from 'swagger-ui-dist/swagger-ui.css' with { type: 'text' }
import script from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'text' }
import { asset } from '../../server/asset.ts'
import type { Catalog } from '../operation.ts'
import { interfaceDescription } from './document.ts'
import { docsPage, NARROW_STYLES, START_SCRIPT } from './page.tsx'

const PAGE_HEADERS = {
  // Nothing from another origin. Swagger UI sets styles on elements and draws with inline pictures.
  'Content-Security-Policy':
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'",
  'Referrer-Policy': 'same-origin',
}

/** Serves `/openapi.json` and the interactive page on it. Call it when all operations were added. */
export function addInterfaceDescription(app: Catalog['app']): void {
  let description: string | undefined
  const page = docsPage()
  const assets = {
    '/docs/swagger-ui.js': asset(script, 'text/javascript'),
    '/docs/swagger-ui.css': asset(styles, 'text/css'),
    '/docs/narrow.css': asset(NARROW_STYLES, 'text/css'),
    '/docs/start.js': asset(START_SCRIPT, 'text/javascript'),
  }
  app.get('/openapi.json', context => {
    // Not at the start, of which it would take a third.
    description ??= interfaceDescription(app)
    return context.body(description, 200, { 'Content-Type': 'application/json' })
  })
  app.get('/docs', context => context.html(page, 200, PAGE_HEADERS))
  app.get('/redoc', context => context.redirect('/docs', 307))
  for (const [path, answer] of Object.entries(assets)) {
    app.get(path, context => answer(context.req.raw))
  }
}
