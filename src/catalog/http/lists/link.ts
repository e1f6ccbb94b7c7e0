import { parsedPath, queryOf } from '../../../server/request-target.ts'
import type { Cursor } from '../../storage/query.ts'
import type { PageQuery } from './page.ts'

/**
 * The `Link` header (RFC 8288) to the next page: by `after_id` if the request used it, else by `skip`. It is relative, so no
 * proxy can make it wrong, and keeps the request's other query parameters.
 */
export function nextLink(url: string, page: PageQuery, last: Cursor): string {
  const query =
    page.after_id === undefined
      ? new URLSearchParams({ skip: String(page.skip + page.limit), limit: String(page.limit) })
      : new URLSearchParams({ after_id: String(last.at(-1)), limit: String(page.limit) })
  for (const [name, value] of new URLSearchParams(queryOf(url))) {
    if (name !== 'skip' && name !== 'limit' && name !== 'after_id') query.append(name, value)
  }
  return `<${parsedPath(url)}?${query}>; rel="next"`
}
