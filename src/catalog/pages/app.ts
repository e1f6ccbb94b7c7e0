import { Hono } from 'hono'
import { addLogin } from '../../login/routes.ts'
import { formLimit } from '../../pages/form.ts'
import { addStaticFiles } from '../../pages/static.ts'
import { showsPages } from '../../server/accept.ts'
import { finishApp } from '../../server/app.ts'
import { errorResponse } from '../../server/errors.ts'
import type { App } from '../../server/requests.ts'
import { routing } from '../../server/routing.ts'
import { BODY_MAX_BYTES } from '../http/validation/request.ts'
import { addActivity } from './activity.tsx'
import { htmlAnswer, type PageContext, type PageParts } from './answer.ts'
import { addDeletions } from './deletions.tsx'
import { isAdminRoute, loginOf, PROTECTED_PAGES, refuseOtherMachines, refuseOtherSites } from './entry.tsx'
import { errorPage } from './error-page.tsx'
import { addForms } from './form-routes.tsx'
import { framedPage, PAGE_FILES, usersNeedAdmin, type Visitor } from './frame.tsx'
import { addImport } from './import-page.tsx'
import { addLists } from './list-pages.tsx'
import { listsOf } from './managed.ts'
import { OwnOperations } from './own-operations.ts'
import { addProductRow } from './product-row.tsx'
import { addReviews } from './reviews.tsx'
import type { PageServices } from './services.ts'
import { startPage } from './start-page.tsx'

/** A form may take three times as many bytes as the body of a request for the API that is made of it, and has names of its own. */
const ADMIN_FORM_MAX_BYTES = 3 * BODY_MAX_BYTES + 4_096

/** The start page and the admin page. `keyOf` finds the key of a request, or of its session. */
export function createPages(services: PageServices) {
  const { catalog, repositories, feed } = services
  const app: App = new Hono(routing())
  const own = new OwnOperations(catalog.operations)
  const login = loginOf(services)

  app.use(async (context, next) => {
    if (isAdminRoute(context.req.path)) {
      refuseOtherSites(context.req.raw)
      if (!login) refuseOtherMachines(context.env)
    }
    await next()
  })
  const limited = formLimit(ADMIN_FORM_MAX_BYTES)
  // A file to import is no form, and has bounds of its own.
  app.use((context, next) => (context.req.path === '/admin/import' ? next() : limited(context, next)))
  if (login) addLogin(app, login, PROTECTED_PAGES)
  const visitorOf = ({ env }: PageContext): Visitor => ({
    scope: login ? (env.key?.scope ?? 'write') : null,
    hasEvents: feed !== null,
  })
  app.use(async (context, next) => {
    // The lists of users are read without an operation, which would ask for this scope.
    const isOfUsers = context.req.path.startsWith('/admin/users/')
    if (isOfUsers && visitorOf(context).scope === 'write') throw usersNeedAdmin()
    await next()
  })

  const parts: PageParts = {
    lists: listsOf(repositories),
    own,
    visitorOf,
    framed: (context, page, status) => htmlAnswer(context, framedPage(page, visitorOf(context)), status),
  }

  app.get('/', async context => htmlAnswer(context, await startPage(services, context.req.raw.headers)))
  addLists(app, parts)
  addReviews(app, parts)
  addForms(app, parts)
  addProductRow(app, parts)
  addDeletions(app, parts)
  addImport(app, parts, services)
  if (feed) addActivity(app, parts, login, feed.stopping)
  addStaticFiles(app, PAGE_FILES)
  finishApp(app)
  app.onError((error, context) => {
    const response = errorResponse(error, context.env.requestId)
    const isForPeople = showsPages(context.req.raw.headers) && !context.req.header('HX-Request')
    return isForPeople ? errorPage(context, error, response) : response
  })
  return { fetch: app.fetch, keyOf: (headers: Headers) => login?.keyOf(headers) ?? null }
}
