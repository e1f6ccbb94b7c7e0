/** @jsxImportSource hono/jsx */
import { z } from '@hono/zod-openapi'
import type { Login } from '../../login/login.ts'
import { eventStream, type ServerSentEvent } from '../../server/event-stream.ts'
import { queryOf } from '../../server/request-target.ts'
import type { App, RequestScope } from '../../server/requests.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'
import type { PageParts } from './answer.ts'
import type { Framed } from './frame.tsx'
import { LISTS } from './managed.ts'
import type { OwnOperations } from './own-operations.ts'
import { price } from './tables.tsx'

/** Each read of the feed waits this long for the next event. Then the key is looked up again. */
const WAIT_SECONDS = 10

/** The event that the page listens for. */
const CHANGE = 'Change'

const Event = z.object({
  id: z.string(),
  type: z.string(),
  time: z.string(),
  data: z.record(z.string(), z.unknown()).default({}),
})

const NEXT = /<([^>]*)>; rel="next"/

/** Adds the page that shows changes as they happen, until the service stops. */
export function addActivity(app: App, { own, framed }: PageParts, login: Login | null, stopping: AbortSignal): void {
  app.get('/admin/activity', async context => {
    return framed(context, activityPage(nextOf(await poll(own, context.env, ''))))
  })
  app.get('/admin/activity/events', ({ env }) =>
    eventStream(env, signal => changes(own, env, login, AbortSignal.any([signal, stopping]))),
  )
}

/** The changes since the page was made, or since the last one that it has, as elements of its list. */
async function* changes(
  own: OwnOperations,
  visit: RequestScope,
  login: Login | null,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  const last =
    visit.request.headers.get('Last-Event-ID') ?? new URLSearchParams(queryOf(visit.request.url)).get('since')
  for (let query = last === null ? '' : `?${new URLSearchParams({ since: last })}`; !signal.aborted; ) {
    if (login && (await login.keyOf(visit.request.headers)) === null) return
    const response = await poll(own, visit, query)
    if (!response.ok) return
    const text = await response.text()
    for (const line of text.split('\n')) {
      const event = line === '' ? null : Event.safeParse(JSON.parse(line)).data
      if (event) yield { name: CHANGE, chunk: `${<Change {...event} />}`, id: event.id }
    }
    const next = nextOf(response)
    next.set('wait', String(WAIT_SECONDS))
    query = `?${next}`
  }
}

function poll(own: OwnOperations, visit: RequestScope, query: string): Promise<Response> {
  return own.call(visit, { method: 'GET', route: '/events', query, headers: { Accept: NDJSON_TYPE } })
}

function nextOf({ headers }: Response): URLSearchParams {
  return new URLSearchParams(NEXT.exec(headers.get('Link') ?? '')?.[1]?.split('?')[1])
}

const activityPage = (from: URLSearchParams): Framed => ({
  title: 'Activity',
  section: '/admin/activity',
  content: (
    <>
      <div class="title">
        <h1>Activity</h1>
      </div>
      <p class="quiet">Changes appear here when they happen, the newest first.</p>
      <noscript>
        <p>This list needs JavaScript.</p>
      </noscript>
      <ol
        id="changes"
        class="card changes"
        aria-live="polite"
        hx-ext="sse"
        sse-connect={`/admin/activity/events?${from}`}
        sse-swap={CHANGE}
        hx-swap="afterbegin"
      ></ol>
    </>
  ),
})

function Change({ id, type, time, data }: z.output<typeof Event>) {
  const [what = '', change = ''] = type.split('.')
  const [list] = Object.entries(LISTS).find(([, { noun }]) => noun === what) ?? []
  const label =
    type === 'reset'
      ? 'Changes before this one may be missing.'
      : typeof data.name === 'string'
        ? data.name
        : `${what} ${data.id ?? ''}`
  return (
    <li data-event={id}>
      <time datetime={time}>{time.slice(11, 19)}</time>
      <span class={`change ${change}`}>{type.replace('.', ' ')}</span>
      <span dir="auto">
        {list && change !== 'deleted' ? <a href={`/admin/${list}/${data.id}`}>{label}</a> : label}
        {typeof data.price === 'number' && ` ${price(data.price)}`}
        {typeof data.rating === 'number' && ` ★ ${data.rating}`}
        {typeof data.count === 'number' && ` ${data.count}`}
      </span>
    </li>
  )
}
