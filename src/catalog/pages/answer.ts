import type { Context } from 'hono'
import { STRICT_PAGE_HEADERS } from '../../pages/layout.tsx'
import { queryOf } from '../../server/request-target.ts'
import type { RequestScope } from '../../server/requests.ts'
import { COMPRESSED_MIN_CHARACTERS, compress, preferredCoding } from '../http/compression.ts'
import type { Framed, Visitor } from './frame.tsx'
import type { ManagedLists } from './managed.ts'
import type { OwnOperations } from './own-operations.ts'

export type PageContext = Context<{ Bindings: RequestScope }>

/** Everything that the routes of the admin page share. */
export interface PageParts {
  readonly lists: ManagedLists
  readonly own: OwnOperations
  readonly visitorOf: (context: PageContext) => Visitor
  /** Answers with a page in its frame. */
  readonly framed: (context: PageContext, page: Framed, status?: number) => Response
}

/** Answers with a page or a part of one, compressed if the browser accepts it. */
export function htmlAnswer(context: PageContext, html: string, status = 200): Response {
  const headers = {
    ...STRICT_PAGE_HEADERS,
    'Cache-Control': 'no-store',
    'Content-Type': 'text/html; charset=utf-8',
    Vary: 'Accept, Accept-Encoding',
  }
  const coding =
    html.length < COMPRESSED_MIN_CHARACTERS
      ? 'identity'
      : preferredCoding(context.req.header('Accept-Encoding') ?? null)
  if (coding === 'identity') return new Response(html, { status, headers })
  return new Response(compress(html, coding), { status, headers: { ...headers, 'Content-Encoding': coding } })
}

/** Leads to a page after a form was sent. */
export function seeOther(path: string): Response {
  return new Response(null, { status: 303, headers: { Location: path, 'Cache-Control': 'no-store' } })
}

/** The id in a path; 0, which no resource has, if it is none. */
export function pathId(context: PageContext): number {
  const id = Number(context.req.param('id'))
  return Number.isSafeInteger(id) && id > 0 ? id : 0
}

export function searchParamsOf(context: PageContext): URLSearchParams {
  return new URLSearchParams(queryOf(context.req.raw.url))
}
