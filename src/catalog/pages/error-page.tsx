/** @jsxImportSource hono/jsx */
import { BusyError } from '../../limits/busy-error.ts'
import { HttpError } from '../../server/errors.ts'
import { htmlAnswer, type PageContext } from './answer.ts'
import { EntryError } from './entry.tsx'
import { notePage } from './frame.tsx'

/** The same answer as a page. */
export function errorPage(context: PageContext, error: unknown, response: Response): Response {
  const wait = response.headers.get('Retry-After')
  const isRepeated = wait !== null && context.req.method === 'GET'
  const page = htmlAnswer(context, pageOf(error, response.status, isRepeated ? wait : null), response.status)
  if (wait !== null) page.headers.set('Retry-After', wait)
  return page
}

/** `wait` are the seconds after which the browser loads the page again. */
function pageOf(error: unknown, status: number, wait: string | null): string {
  if (error instanceof EntryError) return error.page
  const isKnown = error instanceof HttpError || error instanceof BusyError
  const reason = isKnown ? error.message : status === 503 ? 'The database is away' : 'Something failed'
  return notePage(
    status === 404 ? 'Not here' : status === 503 ? 'One moment' : 'That did not work',
    <>
      <p>{reason}.</p>
      {wait === null ? (
        <p>
          Go back, or to <a href="/admin/">the admin page</a>.
        </p>
      ) : (
        <p class="quiet">This page loads again by itself.</p>
      )}
    </>,
    wait === null ? undefined : <meta http-equiv="refresh" content={wait} />,
  )
}
