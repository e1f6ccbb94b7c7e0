import { Hono } from 'hono'
import { type Clock, systemClock } from '../clock.ts'
import { PAGE_HEADERS } from '../pages/layout.tsx'
import { addStaticFiles } from '../pages/static.ts'
import { finishApp } from '../server/app.ts'
import { eventStream } from '../server/event-stream.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { listService } from './list-service.ts'
import ownList from './own-list.json'
import { breedsPage, FILES } from './page.tsx'
import { breedEvents } from './stream.tsx'

export interface BreedsOptions {
  /** Address of the list service; `null` for the app's own list. */
  readonly listUrl: string | null
  readonly clock?: Clock
}

/** The breed stream app. It opens no port: call `fetch` with a request. */
export function createBreeds({ listUrl, clock = systemClock }: BreedsOptions): App {
  const breeds: App = new Hono(routing())
  const list = listUrl === null ? async () => Object.keys(ownList.message) : listService(listUrl, clock)
  const page = breedsPage()
  breeds.get('/', context => context.html(page, 200, PAGE_HEADERS))
  breeds.get('/dogstream', ({ req, env }) => {
    const options = {
      list,
      shown: shownNames(req.query('after'), req.header('Last-Event-ID')),
      clock,
      requestId: env.requestId,
    }
    return eventStream(env, signal => breedEvents({ ...options, signal }), clock)
  })
  breeds.get('/breeds/list', context => context.json(ownList))
  addStaticFiles(breeds, FILES)
  finishApp(breeds)
  return breeds
}

/** The number of names that the page already shows; `null` if neither the stream's address nor `Last-Event-ID` says. */
function shownNames(...counts: readonly (string | undefined)[]): number | null {
  const known = counts.filter(count => count !== undefined && /^\d{1,9}$/.test(count)).map(Number)
  return known.length === 0 ? null : Math.max(...known)
}
