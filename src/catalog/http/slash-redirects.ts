import { queryOf } from '../../server/request-target.ts'
import type { Catalog } from './operation.ts'

const COLLECTIONS = ['/categories', '/products', '/reviews', '/users']

/** Redirects a collection's path without its final slash to the path with it. */
export function addSlashRedirects(app: Catalog['app']): void {
  for (const path of COLLECTIONS) {
    // Relative, so that behind a proxy it leads neither to http nor to an internal host.
    app.all(path, ({ req }) => {
      return new Response(null, { status: 307, headers: { Location: `${path}/${queryOf(req.raw.url)}` } })
    })
  }
}
