import type { Hono } from 'hono'
import htmx from 'htmx.org/dist/htmx.min.js' with { type: 'text' }
import htmxSse from 'htmx-ext-sse/dist/sse.min.js' with { type: 'text' }
import { asset } from '../server/asset.ts'
import type { RequestScope } from '../server/requests.ts'
import icon from './icon.svg' with { type: 'text' }
import styles from './page.css' with { type: 'text' }

const JAVASCRIPT = 'text/javascript'
const CSS = 'text/css'

/** Files of one app, by their names under `/static/`. */
export type StaticFiles = Readonly<Record<`${string}.js` | `${string}.css`, string>>

/** Serves under `/static` what every page needs, and the app's own files. */
export function addStaticFiles(app: Hono<{ Bindings: RequestScope }>, files: StaticFiles): void {
  const assets = {
    'htmx.js': asset(htmx, JAVASCRIPT),
    'sse.js': asset(htmxSse, JAVASCRIPT),
    'page.css': asset(styles, CSS),
    'icon.svg': asset(icon, 'image/svg+xml'),
    ...Object.fromEntries(
      Object.entries(files).map(([name, text]) => [name, asset(text, name.endsWith('.css') ? CSS : JAVASCRIPT)]),
    ),
  }
  for (const [name, answer] of Object.entries(assets)) {
    app.get(`/static/${name}`, context => answer(context.req.raw))
  }
}
