import { Hono } from 'hono'
import { type Clock, systemClock } from '../clock.ts'
import { PAGE_HEADERS } from '../pages/layout.tsx'
import { addStaticFiles } from '../pages/static.ts'
import { finishApp } from '../server/app.ts'
import { eventStream } from '../server/event-stream.ts'
import { type App, type RequestScope, ROUTING } from '../server/requests.ts'
import { ListService } from './list-service.ts'
import { OWN_LIST, OWN_LIST_PATH } from './own-list.ts'
import { breedsPage, FILES } from './page.tsx'
import { breedEvents } from './stream.tsx'

export interface BreedsOptions {
  /** The list service; null for the app's own list. */
  readonly listUrl: string | null
  readonly clock?: Clock
}

/** The breed stream app. It listens nowhere: `fetch` answers a request. */
export function createBreeds({ listUrl, clock = systemClock }: BreedsOptions): App {
  const breeds: App = new Hono(ROUTING)
  const listService = new ListService(clock)
  const page = breedsPage()
  breeds.get('/', context => context.html(page, 200, PAGE_HEADERS))
  breeds.get('/dogstream', ({ req, env }) => {
    const shown = shownNames(req.query('after'), req.header('Last-Event-ID'))
    const from = { listService, listUrl: listUrl ?? ownListUrl(env), requestId: env.requestId }
    return eventStream(req.raw, env, left => breedEvents({ ...from, shown, clock, left }), clock)
  })
  breeds.get(OWN_LIST_PATH, context => context.body(OWN_LIST, 200, { 'Content-Type': 'application/json' }))
  addStaticFiles(breeds, FILES)
  finishApp(breeds)
  return breeds
}

/** How many names a page has that counts them; null where neither its address nor its browser says. */
function shownNames(...counts: readonly (string | undefined)[]): number | null {
  const known = counts.filter(count => count !== undefined && /^\d{1,9}$/.test(count)).map(Number)
  return known.length === 0 ? null : Math.max(...known)
}

/** The app's own list is asked for as any other, over HTTP, at the address on which it listens. */
function ownListUrl({ server }: RequestScope): string {
  const anywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  const host = anywhere[server.hostname ?? '0.0.0.0'] ?? server.hostname ?? '127.0.0.1'
  return `http://${host.includes(':') ? `[${host}]` : host}:${server.port}${OWN_LIST_PATH}`
}
