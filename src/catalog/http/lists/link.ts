import { parsedPath, queryOf } from '../../../server/request-target.ts'
import type { Cursor } from '../../storage/query.ts'
import type { Values } from '../../storage/resource.ts'
import type { Selection } from './page.ts'

const PAGE_PARAMETERS: ReadonlySet<string> = new Set(['skip', 'limit', 'after_id', 'cursor'])

/**
 * The `Link` header (RFC 8288) to the next page: by `after_id` or `skip` if the request used it, else by a cursor if it is a
 * selection. It is relative, so no proxy can make it wrong, and keeps the request's other query parameters.
 */
export function nextLink<Row extends Values>(url: string, selection: Selection<Row>, last: Cursor): string {
  const { skip, limit, isAfterId, isSelection, cursorAt } = selection
  const sent = new URLSearchParams(queryOf(url))
  const query = new URLSearchParams()
  if (isAfterId) query.set('after_id', String(last.at(-1)))
  else if (isSelection && !sent.has('skip')) query.set('cursor', cursorAt(last))
  else query.set('skip', String(skip + limit))
  query.set('limit', String(limit))
  for (const [name, value] of sent) if (!PAGE_PARAMETERS.has(name)) query.append(name, value)
  return `<${parsedPath(url)}?${query}>; rel="next"`
}
