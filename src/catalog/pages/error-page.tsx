/** @jsxImportSource hono/jsx */
import { BusyError } from '../../limits/busy-error.ts'
import { HttpError } from '../../server/errors.ts'
import { htmlAnswer, type PageContext } from './answer.ts'
import { EntryError } from './entry.ts'
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
  if (error instanceof EntryError) {
    return error.kind === 'other machine'
      ? notePage('Only from this machine', <WithoutKeys />)
      : notePage('Open the admin page', <FromElsewhere />)
  }
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

function WithoutKeys() {
  return (
    <>
      <p>
        This service asks nobody for a key (<code>AUTH=off</code>), so its admin page opens on the machine that it runs
        on, at an address such as <code>http://localhost:8000/admin/</code>, and nowhere else.
      </p>
      <p>To open it from here, make a key and let the service ask for keys:</p>
      <pre tabindex={0}>
        <code>{'npx stockroom key create NAME --scope admin\nAUTH=keys npx stockroom serve'}</code>
      </pre>
    </>
  )
}

function FromElsewhere() {
  return (
    <>
      <p>A link on another site has led here. To keep other sites from acting in your name, the last step is yours:</p>
      <p>
        <a class="button primary" href="/admin/">
          Open the admin page
        </a>
      </p>
    </>
  )
}
