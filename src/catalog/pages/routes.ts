import { showsPages } from '../../server/accept.ts'
import type { ServedApp } from '../../server/requests.ts'
import { once } from '../../shared.ts'
import type { PageServices } from './services.ts'

/** The start page, and the files that the pages load. */
const START = '/'
const FILES = ['htmx.js', 'sse.js', 'page.css', 'icon.svg', 'pages.css', 'pages.js'].map(name => `/static/${name}`)

/** Every route of the admin page. */
const ADMIN = [
  ...['', '/', '/login', '/logout', '/facets', '/deletions', '/import', '/export/:file'],
  ...['/activity', '/activity/events'],
  ...['/products', '/products/new', '/products/:id', '/products/:id/row'],
  ...['/categories', '/categories/', '/categories/new', '/categories/:id'],
  ...['/users', '/users/', '/users/new', '/users/:id'],
  ...['/reviews', '/reviews/', '/reviews/:id'],
].map(path => `/admin${path}`)

/**
 * Adds the start page and, unless it is off, the admin page. The first request for one of them loads them all, so a service
 * whose pages nobody opens neither parses them nor keeps them in memory.
 */
export function addPages(services: PageServices): NonNullable<ServedApp['identify']> {
  const pages = once(async () => (await import('./app.ts')).createPages(services))
  const { app } = services.catalog
  const admin = services.hasAdminPage ? ADMIN : []
  app.all(START, async context => {
    const wantsPage = context.req.method === 'GET' && showsPages(context.req.raw.headers)
    if (wantsPage) return (await pages()).fetch(context.req.raw, context.env)
    // Programs get the answer of a path without a route. A cache may keep a 404 (RFC 9110, 15.1), and must not give it to people.
    const absent = await context.notFound()
    absent.headers.set('Vary', 'Accept')
    return absent
  })
  for (const path of [...FILES, ...admin]) {
    app.all(path, async context => (await pages()).fetch(context.req.raw, context.env))
  }
  return route => (admin.includes(route) ? async headers => (await pages()).keyOf(headers) : null)
}
