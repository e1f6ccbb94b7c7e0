import { Hono } from 'hono'
import type { Key } from '../../access/key.ts'
import type { Awaitable } from '../../awaitable.ts'
import { addLogin } from '../../login/routes.ts'
import { addStaticFiles } from '../../pages/static.ts'
import { finishApp } from '../../server/app.ts'
import { errorResponse } from '../../server/errors.ts'
import type { App, RequestScope } from '../../server/requests.ts'
import { routing } from '../../server/routing.ts'
import { addActivity, EVENTS_ROUTE } from './activity.tsx'
import { addAdmin } from './admin.tsx'
import { htmlAnswer, type PageContext } from './answer.ts'
import { isAdminRoute, loginOf, PROTECTED_PAGES, refuseOtherMachines, refuseOtherSites } from './entry.ts'
import { errorPage } from './error-page.tsx'
import { FACETS_ROUTE } from './facets.tsx'
import { addForms } from './form-routes.tsx'
import { PAGE_FILES, usersNeedAdmin, type Visitor } from './frame.tsx'
import { addImport } from './import-page.tsx'
import { listsOf } from './managed.ts'
import { OwnOperations } from './own-operations.ts'
import type { PageServices } from './services.ts'
import { startPage } from './start-page.tsx'

interface Pages {
  readonly fetch: App['fetch']
  /** The key of a request, or of its session. */
  readonly keyOf: (headers: Headers) => Awaitable<Key | null>
}

/** The start page and the admin page. */
export function createPages(services: PageServices): Pages {
  const { catalog, repositories } = services
  const app: App = new Hono(routing())
  const own = new OwnOperations(catalog.operations)
  const login = loginOf(services)

  app.use(async (context, next) => {
    if (isAdminRoute(context.req.path)) {
      refuseOtherSites(context.req.raw.headers)
      if (!login) refuseOtherMachines(context.env)
    }
    await next()
  })
  if (login) addLogin(app, login, PROTECTED_PAGES)

  const visitorOf = (context: PageContext): Visitor => {
    const scope = login ? (context.env.key?.scope ?? 'write') : null
    // The lists of users are read without an operation, which would ask for this scope.
    if (scope === 'write' && context.req.path.startsWith('/admin/users/')) {
      throw usersNeedAdmin()
    }
    return { scope, hasEvents: own.has(EVENTS_ROUTE) }
  }
  const parts = { lists: listsOf(repositories), own, visitorOf }

  app.get('/', async context => htmlAnswer(context, await startPage(services, context.req.raw.headers)))
  addAdmin(app, parts, own.has(FACETS_ROUTE))
  addForms(app, parts)
  addImport(app, parts, services)
  if (own.has(EVENTS_ROUTE)) {
    addActivity(
      app,
      parts,
      async ({ request }: RequestScope) => !login || (await login.keyOf(request.headers)) !== null,
    )
  }
  addStaticFiles(app, PAGE_FILES)
  finishApp(app)
  app.onError((error, context) => {
    const response = errorResponse(error, context.env.requestId)
    const isForPeople = context.req.header('Accept')?.includes('text/html') && !context.req.header('HX-Request')
    return isForPeople ? errorPage(context, error, response) : response
  })
  return { fetch: app.fetch, keyOf: headers => login?.keyOf(headers) ?? null }
}
